import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { freePort } from '../environment/free-port.ts'
import { startMailServer } from '../environment/mail-server.ts'
import { endChild, hasProgram, killAtExit, nodeEnvironment, runProgram } from '../environment/program.ts'
import { startRedis } from '../environment/redis.ts'
import { openScratch } from '../environment/scratch.ts'
import { testStorageSettings } from '../environment/storage.ts'
import { until } from '../environment/wait.ts'
import { root, shellBlocks } from '../stack/documented-session.ts'

// Starts a deployment as docs/operations.md, The processes, shows it. Only addresses, secrets and ports differ.
const blocks = shellBlocks(await readFile(join(root, 'docs/operations.md'), 'utf8'))
const hasPrograms = (await hasProgram('bash')) && (await hasProgram('curl'))
const path = [join(root, 'node_modules', '.bin'), nodeEnvironment.PATH].join(delimiter)

test.skipIf(!hasPrograms)(
  'the documented settings and commands start every app, and each ends with code 0',
  { timeout: 300_000 },
  async ({ skip }) => {
    await using scratch = await openScratch('sluice-start-')
    const own = await ownSettings(scratch.path)
    if (own === undefined) return skip('there is no redis-server')
    const [settings = ''] = blocks.filter((block) => block.startsWith('DATABASE_URL='))
    const lines = settings.trim().split('\n')
    const file = lines.map((line) =>
      line.replace(/^(\w+)=.*/, (given, name) => (own[name] ? `${name}=${own[name]}` : given)),
    )
    await writeFile(join(scratch.path, 'settings.env'), `${file.join('\n')}\n`)
    const env = { PATH: path, HOME: scratch.path, NODE_COMPILE_CACHE: nodeEnvironment.NODE_COMPILE_CACHE }
    const inShell = (command: string) => [
      '--norc',
      '-ec',
      `set -a; . '${join(scratch.path, 'settings.env')}'; set +a; ${command}`,
    ]

    const running: ChildProcess[] = []
    const ports = { 3000: await freePort(), 3001: await freePort(), 3006: await freePort() }
    const servers = { API_PORT: ports[3000], DASHBOARD_PORT: ports[3001], S3_GATEWAY_PORT: ports[3006] }
    const metrics = new Map<string, number>()
    const [start = ''] = blocks.filter(
      (block) => block.includes('apps/api/src/main.ts') && block.includes('sluice migrate'),
    )
    for (const command of start.replaceAll('\\\n', '').trim().split('\n')) {
      const [, documented = '', node] = /^METRICS_PORT=(\d+) (node .*)$/.exec(command) ?? []
      if (node === undefined) {
        const [port = ''] = /\b946\d\b/.exec(command) ?? []
        const { code, output } = await runProgram(
          'bash',
          inShell(command.replace(port, String(metrics.get(port) ?? ''))),
          { cwd: root, env },
        )
        expect(code, `${command}: ${output}`).toBe(0)
        if (command.startsWith('curl')) expect(output).toContain('"ready"')
        if (command.includes('dashboard link')) expect(output).toContain('https://dashboard.example.com/sign-in/')
        continue
      }
      const port = await freePort()
      metrics.set(documented, port)
      const process = spawn('bash', inShell(`export METRICS_PORT=${port}; exec ${node}`), {
        cwd: root,
        env: { ...env, ...Object.fromEntries(Object.entries(servers).map(([name, value]) => [name, String(value)])) },
        stdio: 'ignore',
      })
      killAtExit(process)
      onTestFinished(() => endChild(process))
      running.push(process)
      await until(`${node} to be ready`, () => isReady(port), 60_000)
    }
    expect(running).toHaveLength(4)
    for (const process of running) process.kill('SIGTERM')
    expect(await Promise.all(running.map(async (process) => (await once(process, 'exit'))[0]))).toEqual([0, 0, 0, 0])
  },
)

/** Starts servers. Returns the settings that lead to them, and an own secret; undefined without Redis. */
async function ownSettings(folder: string): Promise<Record<string, string> | undefined> {
  const redis = await startRedis(folder, { ofItsOwn: true })
  if (redis === undefined) return undefined
  const [database, mail] = [await openTestDatabase(2, { migrated: false }), await startMailServer()]
  onTestFinished(async () => {
    await database.close()
    await mail.close()
    await redis.stop()
  })
  return {
    ...testStorageSettings(),
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
    SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
  }
}

async function isReady(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  )
}
