import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { gunzipSync } from 'node:zlib'
import type { ExportAnswer, ExportView } from '@sluice/contract'
import { checkSchema, connect, migrations, sql } from '@sluice/database'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { freePort } from '../environment/free-port.ts'
import { endChild, hasProgram, killAtExit, runProgram } from '../environment/program.ts'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { openClientApp, upload } from '../faults/harness/client.ts'
import { compareWithModel } from '../faults/harness/comparison.ts'
import { type Deployment, startDeployment } from '../faults/harness/deployment.ts'
import { generateSoundFile } from '../faults/harness/generate.ts'
import { claimant, slowBatches, untilInTrigger, untilRows, untilState } from '../faults/harness/import-states.ts'
import { queueSuite } from '../queue/queue-suite.ts'
import { updateAge } from '../stack/client.ts'
import { startTransactionPooler, type TransactionPooler } from './transaction-pooler.ts'

// second-day.md §7, Poolers.
describe.skipIf(!(await hasProgram('pgbouncer')))('through PgBouncer with its default configuration', () => {
  let deployment: Deployment
  beforeAll(async () => {
    // PgBouncer has 20 connections for one user and database by default: the processes must not need more together.
    deployment = await startDeployment({
      workers: 1,
      pooler: (databaseUrl) => startPgBouncer(databaseUrl),
      env: { DATABASE_POOL: '4' },
    })
  })
  afterAll(() => deployment.close())
  importsAndUpdates(() => deployment)

  describe('queues', () => {
    let database: TestDatabase
    let pooler: Pooler
    beforeEach(async () => {
      database = await openTestDatabase()
      pooler = await startPgBouncer(database.url)
      return async () => {
        await pooler.close()
        await database.close()
      }
    })
    queueSuite(() => ({ databaseUrl: pooler.url }))
  })
})

describe('through a pooler that gives each transaction another connection', () => {
  let deployment: Deployment
  let pooler: TransactionPooler
  beforeAll(async () => {
    const start = async (databaseUrl: string) => {
      pooler = await startTransactionPooler(databaseUrl)
      return pooler
    }
    deployment = await startDeployment({ workers: 2, pooler: start })
  })
  afterAll(() => deployment.close())
  importsAndUpdates(() => deployment)

  test('no session keeps a setting, a lock or a table of a client', async () => {
    await deployment.stopApps()
    expect(pooler.moves()).toBeGreaterThan(100)
    expect(await pooler.leftovers()).toEqual([])
  })

  test('sluice migrate goes past the pooler, to MIGRATION_DATABASE_URL', async () => {
    const database = await openTestDatabase(1, { migrated: false })
    const own = await startTransactionPooler(database.url, 3)
    onTestFinished(async () => {
      await own.close()
      await database.close()
    })
    const env = { DATABASE_URL: own.url, MIGRATION_DATABASE_URL: database.url, PATH: process.env.PATH ?? '' }
    const { code, output } = await runProgram(process.execPath, ['apps/cli/src/main.ts', 'migrate', '--json'], { env })
    expect({ code, output: JSON.parse(output) }).toEqual({ code: 0, output: { applied: Object.keys(migrations) } })
    expect(own.moves()).toBe(0)
    // The processes find the schema through the pooler.
    const { db, close } = connect(own.url)
    onTestFinished(close)
    await checkSchema(db)
  })

  test('each transaction and each statement has the settings of the service', async () => {
    const { db, close } = connect(pooler.url, { lockTimeoutMs: 1234 })
    onTestFinished(close)
    const read = sql<{ settings: string[] }>`
      select array[current_setting('enable_seqscan'), current_setting('lock_timeout'), current_setting('TimeZone')] as settings
    `
    for (let round = 0; round < 20; round++) {
      const alone = await read.execute(db)
      const inside = await db.transaction().execute((tx) => read.execute(tx))
      for (const { rows } of [alone, inside]) expect(rows[0]?.settings).toEqual(['off', '1234ms', 'UTC'])
    }
  })
})

/** Defines the tests of a deployment whose processes reach Postgres through a pooler. */
function importsAndUpdates(current: () => Deployment): void {
  const random = seeded(23)

  test('an import whose worker is killed in a batch recovers: every row applies exactly once', async () => {
    const deployment = current()
    await slowBatches(deployment.db, 100)
    const app = await openClientApp(deployment)
    const importId = await upload(deployment, app, generateSoundFile(random, 1, 1_500))
    await untilRows(deployment, importId, 200)
    const worker = await claimant(deployment, importId, 1)
    await untilInTrigger(deployment.db)
    worker.kill('SIGKILL')
    await worker.exited
    await slowBatches(deployment.db, 0)
    await untilState(deployment, importId, 'completed')
    expect((await compareWithModel(deployment, [app])).violations).toEqual([])
  })

  test('profile updates are applied, many at once', async () => {
    const deployment = current()
    const app = await openClientApp(deployment)
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => updateAge(deployment.api, app.token, { user: `user-${n % 50}`, age: n })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    const { count } = await deployment.db
      .selectFrom('profiles')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('app_id', '=', app.appId)
      .executeTakeFirstOrThrow()
    expect(count).toBe(50)
  })

  test('an export that is requested twice with one idempotency key is written once, with every user', async () => {
    const { api } = current()
    const app = await openClientApp(current())
    const headers = { 'Content-Type': 'application/json', 'X-Service-Token': app.token, 'Idempotency-Key': 'key-1' }
    const request = async () => {
      const answer = await fetch(`${api}/v1/exports`, { method: 'POST', headers, body: '{}' })
      return (await answer.json()) as ExportAnswer
    }
    const requested = await request()
    expect(await request()).toEqual(requested)
    const view = await until('the end of the export', async () => {
      const answer = await fetch(`${api}/v1/exports/${requested.export_id}`, { headers })
      const found = (await answer.json()) as ExportView
      return found.finished_at !== null && found
    })
    expect(view).toMatchObject({ state: 'completed', error: null })
    const file = gunzipSync(await (await fetch(view.file_url ?? '')).bytes()).toString()
    expect(file.trimEnd().split('\n')).toHaveLength(view.rows + 1)
    expect(view.rows).toBeGreaterThan(10)
  })
}

interface Pooler {
  /** The database's address through the pooler. */
  url: string
  close(): Promise<void>
}

/**
 * Starts PgBouncer with its default configuration in front of all databases of a server. PgBouncer refuses to run as
 * root. If the tests run as root, PgBouncer runs as `nobody`.
 */
async function startPgBouncer(databaseUrl: string): Promise<Pooler> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pgbouncer-'))
  await chmod(folder, 0o755)
  const { hostname, port, username, password } = new URL(databaseUrl)
  const [users, configuration] = [join(folder, 'userlist.txt'), join(folder, 'pgbouncer.ini')]
  await writeFile(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`)
  const ownPort = await freePort()
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${ownPort}`,
    'unix_socket_dir =',
    `auth_file = ${users}`,
  ]
  await writeFile(configuration, `${lines.join('\n')}\n`)
  const user = process.getuid?.() === 0 ? ['--user=nobody'] : []
  const child = spawn('pgbouncer', [...user, configuration], { stdio: ['ignore', 'ignore', 'pipe'] })
  killAtExit(child)
  await listening(child)
  const url = new URL(databaseUrl)
  url.port = String(ownPort)
  return {
    url: url.href,
    async close() {
      await endChild(child)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Waits until PgBouncer says that it is up. Throws with its log if it ends before. */
async function listening(child: ChildProcess): Promise<void> {
  const log: string[] = []
  if (child.stderr === null) throw new Error('the log of PgBouncer is not read')
  for await (const line of createInterface({ input: child.stderr })) {
    log.push(line)
    if (line.includes('process up')) break
  }
  child.stderr.resume()
  if (!log.at(-1)?.includes('process up')) throw new Error(`PgBouncer ended: ${log.join('\n')}`)
}
