import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { nodeEnvironment } from '../environment/program.ts'
import { testStorageSettings } from '../environment/storage.ts'
import { until } from '../environment/wait.ts'

const entry = fileURLToPath(new URL('../../../apps/api/src/main.ts', import.meta.url))

/** The API as a deployment runs it: in its own process. */
export interface ApiProcess {
  url: string
  pid: number
  /** Returns the log that the process has written so far. */
  log(): string
  /** Ends the process by SIGTERM; `log()` is complete then. Throws unless the exit code is 0. */
  stop(): Promise<void>
}

/** Starts an API process on a database and the shared storage; `env` holds further settings. */
export async function startApi(databaseUrl: string, env: Record<string, string> = {}): Promise<ApiProcess> {
  const settings = {
    DATABASE_URL: databaseUrl,
    ...testStorageSettings(),
    API_URL: 'http://api.test',
    API_PORT: '0',
  }
  const child = spawn(process.execPath, [entry], {
    env: { ...nodeEnvironment, ...settings, ...env },
    // The process stops when this channel closes: a test run that is killed leaves nothing running.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let written = ''
  const append = (chunk: Buffer) => {
    written += chunk
  }
  let url: string | undefined
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', append)
  child.on('message', (message: { url?: string }) => {
    url = message.url
  })
  const address = await until('the API', () => {
    assert.equal(child.exitCode, null, `the API ended: ${written}`)
    return url
  })
  return {
    url: address,
    pid: child.pid ?? 0,
    log: () => written,
    async stop() {
      const closed = once(child, 'close')
      child.kill('SIGTERM')
      const [code] = await closed
      assert.equal(code, 0, `the API ended badly: ${written}`)
    },
  }
}
