import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createApp } from '@sluice/accounts'
import { sql } from '@sluice/database'
import { requestDeletion } from '@sluice/deletions'
import { embeddedStorageAccess } from '@sluice/local-stack'
import { registerUsers } from '@sluice/profiles'
import { migrateCell, runMove } from '../../cells/cell.ts'
import { openScratch } from '../../environment/scratch.ts'
import { until } from '../../environment/wait.ts'
import { type StackAccess, startStack } from '../../stack/running-stack.ts'
import { startBenchPostgres } from './import/postgres.ts'
import { printTargets } from './measuring.ts'
import { upload } from './mixed.ts'
import { steadyLoad } from './steady-load.ts'

/** Updates a second of the app that moves, and of another app of its cell. */
const rates = { moving: 200, other: 50 }
const gone = ['gone-1', 'gone-2']
const quietMs = 10_000
const postgresSettings = {
  ...{ shared_buffers: '512MB', max_wal_size: '4GB', checkpoint_timeout: '30min', autovacuum: 'off' },
  wal_level: 'logical',
}

type App = Awaited<ReturnType<typeof openApp>>

/**
 * Moves an app to another cell, with a server of its own, while clients update profiles, imports of all its users run
 * and wait, and a deletion is due. `[--users N]`. Returns whether the targets are met: nothing lost or doubled, the
 * longest wait of a client, and the latency of another app.
 */
export async function benchMove(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({ args: [...args], options: { users: { type: 'string', default: '1000000' } } })
  const users = Number(values.users)
  await using parts = new AsyncDisposableStack()
  const { path: folder } = parts.use(await openScratch('sluice-bench-move-'))
  const { first, second, cells } = await startCells(folder, parts)
  const [moving, other] = [await openApp(first, users), await openApp(first, 1_000)]
  const files = await Promise.all([0, 1, 2, 3].map((mark) => makeFile(folder, users, mark)))
  const importIds: string[] = []
  const importNext = async () => {
    const file = files[importIds.length]
    if (file !== undefined) importIds.push(await upload(first, moving, file))
  }
  await importNext()
  await untilImported(first, importIds, users)

  const updates = openUpdates(first.api, moving)
  const load = steadyLoad({ ...updates, expected: 202 }, rates.moving)
  parts.defer(load.stop)
  const otherLoad = steadyLoad({ ...openUpdates(first.api, other), expected: 202 }, rates.other)
  parts.defer(otherLoad.stop)
  await importNext()
  const quietFrom = performance.now()
  await delay(quietMs)
  await importNext()
  await importNext()
  const request = { appId: moving.appId, userIds: gone, tokenLastFour: 'last' }
  await requestDeletion({ db: first.db, settings: { SERVICE_TIMEZONE: 'UTC' } }, request, new Date('2026-01-01'))
  const movedFrom = performance.now()
  const exitCode = await runMove(cells, ['--app', String(moving.appId), '--to', '1'])
  await delay(2_000)
  const end = performance.now()
  await Promise.all([load.stop(), otherLoad.stop()])
  await untilImported(second, importIds, users)
  const deletions = await incompleteDeletions(second, moving)
  const [during, quiet, others] = [
    load.between(movedFrom, end),
    otherLoad.between(quietFrom, movedFrom),
    otherLoad.between(movedFrom, end),
  ]
  console.log(`${users} users, ${during.requests} updates in ${Math.round((end - movedFrom) / 1000)} s`)
  console.log(`another app: p99 ${quiet.p99.toFixed(1)} ms before, ${others.p99.toFixed(1)} ms during the move`)
  const none = { must: 0, digits: 0 } as const
  return printTargets([
    { name: 'exit code of the command', measured: exitCode ?? Number.NaN, ...none },
    { name: 'longest wait of a client, s', measured: during.max / 1000, must: 5 },
    { name: 'updates not answered with 202', measured: during.errors, ...none },
    { name: 'answered updates that are lost', measured: await updates.lost(second, moving), ...none },
    {
      name: 'users without the value of the last import',
      measured: await staleUsers(second, moving, importIds),
      ...none,
    },
    { name: 'imports that ended out of order', measured: await unordered(second, moving, importIds), ...none },
    { name: 'deletions that did not complete once', measured: deletions, ...none },
    { name: "another app's p99 ÷ before the move", measured: others.p99 / quiet.p99, must: 2 },
  ])
}

/** Starts two cells with one bucket, each with a server of Postgres. Returns the settings of the command as well. */
async function startCells(folder: string, parts: AsyncDisposableStack) {
  const env = {
    ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
    ...{ LOG_LEVEL: 'warn', UPLOAD_ORDER_WAIT: '1s', RATE_LIMIT_PROFILE_UPDATE: '100000000/60s' },
  }
  const start = async (cell: number, others: Record<string, string>) => {
    await mkdir(join(folder, String(cell)))
    const postgres = await startBenchPostgres(join(folder, String(cell)), postgresSettings)
    parts.defer(() => postgres.stop())
    const databaseUrl = postgres.urlOf('sluice')
    await migrateCell(databaseUrl, cell)
    const stack = await startStack({ env: { ...env, DATABASE_URL: databaseUrl, CELL: String(cell), ...others } })
    parts.defer(() => stack.stop())
    return { ...stack, databaseUrl }
  }
  const second = await start(1, { CELLS: '1=http://127.0.0.1:1' })
  const bucket = { S3_ENDPOINT: (await second.info()).storage, ...(await embeddedStorageAccess(second.home, {})) }
  const first = await start(0, { CELLS: `1=${second.api}`, ...bucket })
  const cells = { CELL: '0', CELL_DATABASES: `0=${first.databaseUrl} 1=${second.databaseUrl}` }
  return { first, second, cells }
}

async function openApp({ db }: StackAccess, users: number) {
  const { appId, apiToken: token } = await createApp(db, { name: 'App', email: `${crypto.randomUUID()}@example.com` })
  await sql`insert into users select ${appId}, 'u' || n from generate_series(0, ${users - 1}) n`.execute(db)
  await registerUsers(db, appId, gone)
  return { appId, token, users }
}

/** Makes a file whose rows give each user the number of the file. */
async function makeFile(folder: string, users: number, mark: number): Promise<{ path: string; bytes: number }> {
  const path = join(folder, `${mark}.csv`)
  function* chunks() {
    yield 'user_id,mark,plan,city\n'
    for (let from = 0; from < users; from += 1_000) {
      const rows = Array.from({ length: Math.min(1_000, users - from) }, (_, row) => from + row)
      yield rows.map((user) => `u${user},${mark},plan ${user % 7},city ${user % 1000}\n`).join('')
    }
  }
  await pipeline(Readable.from(chunks()), createWriteStream(path))
  return { path, bytes: (await stat(path)).size }
}

/** Updates of one user each, so that the value of each answered one must be there at the end. */
function openUpdates(api: string, { token, users }: App) {
  const answered: number[] = []
  let count = 0
  return {
    url: `${api}/v2/user_profiles`,
    next() {
      const number = count++
      const profile = [{ key: 'age', type: 'int', value: number }]
      return {
        headers: { 'X-Service-Token': token },
        body: JSON.stringify({ user_id: `u${number % users}`, user_profiles: profile }),
        onAnswer: (status: number) => void (status === 202 && answered.push(number)),
      }
    },
    async lost({ db }: StackAccess, { appId }: App): Promise<number> {
      const { rows } = await sql<{ lost: number }>`
        select count(*) as lost from unnest(${answered}::integer[]) n
        where (select attributes -> 'age' from profiles where app_id = ${appId} and user_id = 'u' || n)
          is distinct from n::text
      `.execute(db)
      return rows[0]?.lost ?? Number.NaN
    },
  }
}

async function untilImported({ db }: StackAccess, importIds: readonly string[], users: number): Promise<void> {
  await until(
    'the end of the imports',
    async () => {
      const ended = await db
        .selectFrom('imports')
        .select('import_id')
        .where('import_id', 'in', importIds)
        .where('state', '=', 'completed')
        .where('rows_applied', '=', users)
        .execute()
      return ended.length === importIds.length
    },
    1_000_000,
  )
}

async function staleUsers({ db }: StackAccess, { appId }: App, importIds: readonly string[]): Promise<number> {
  const { rows } = await sql<{ stale: number }>`
    select count(*) as stale from users u left join profiles p using (app_id, user_id)
    where app_id = ${appId} and attributes -> 'mark' is distinct from ${String(importIds.length - 1)}
  `.execute(db)
  return rows[0]?.stale ?? Number.NaN
}

async function unordered({ db }: StackAccess, { appId }: App, importIds: readonly string[]): Promise<number> {
  const ended = await db
    .selectFrom('imports')
    .select('import_id')
    .where('app_id', '=', appId)
    .where('state', '=', 'completed')
    .orderBy('finished_at')
    .execute()
  return ended.filter(({ import_id: importId }, place) => importId !== importIds[place]).length
}

async function incompleteDeletions({ db }: StackAccess, { appId }: App): Promise<number> {
  const requests = db
    .selectFrom('deletion_requests')
    .select(['users_deleted', 'completed_at'])
    .where('app_id', '=', appId)
  await until(
    'the deletion',
    async () => (await requests.execute()).every(({ completed_at: at }) => at !== null),
    120_000,
  )
  return (await requests.execute()).filter(({ users_deleted: count }) => Number(count) !== gone.length).length
}
