import assert from 'node:assert/strict'
import { testStorageSettings } from '../environment/storage.ts'
import { startApp } from '../faults/harness/app-process.ts'

/** The API as a deployment runs it: in its own process. */
export interface ApiProcess {
  url: string
  /** Address of the metrics. */
  metrics: string
  pid: number
  /** Returns the log that the process has written so far. */
  log(): string
  /** Ends the process by SIGTERM. Throws unless the exit code is 0. */
  stop(): Promise<void>
}

/** Starts an API process on a database and the shared storage; `env` holds further settings. */
export async function startApi(databaseUrl: string, env: Record<string, string> = {}): Promise<ApiProcess> {
  const settings = { DATABASE_URL: databaseUrl, ...testStorageSettings(), API_URL: 'http://api.test', API_PORT: '0' }
  let written = ''
  const output = (chunk: Buffer) => {
    written += chunk
  }
  const { pid, info, exited, kill } = await startApp({
    app: 'api',
    env: { ...settings, ...env },
    log: () => {},
    output,
  })
  return {
    url: String(info.url),
    metrics: String(info.metrics),
    pid,
    log: () => written,
    async stop() {
      kill('SIGTERM')
      assert.equal(await exited, 0, `the API ended badly: ${written}`)
    },
  }
}
