import { createApp } from '@sluice/accounts'
import { auditLogPage } from '@sluice/audit-log'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { runSluice } from '../environment/sluice-command.ts'
import { openTestBucket, type TestBucket } from '../environment/storage.ts'
import { changeImport } from '../imports/forced-states.ts'
import { queueFile } from '../imports/import-fixture.ts'
import { sluice } from './command-line.ts'

let database: TestDatabase
let bucket: TestBucket
let apps: [number, number]

beforeAll(async () => {
  database = await openTestDatabase()
  bucket = await openTestBucket()
})
afterAll(async () => {
  bucket.close()
  await database.close()
})
beforeEach(async () => {
  await database.db
    .updateTable('imports')
    .set({ state: 'completed', finished_at: new Date(0) })
    .execute()
  apps = [await newApp('Shop'), await newApp('Bakery')]
})

const run = (...args: string[]) => sluice(database, ['imports', ...args], bucket.environment)
const newApp = async (name: string) =>
  (await createApp(database.db, { name, email: `${crypto.randomUUID()}@example.com` })).appId
const queued = (appId: number) => queueFile({ database, storage: bucket.storage }, appId, 'user_id,a\nalice,1\n')

async function failed(appId: number, minutesAgo = 0): Promise<string> {
  const importId = await queued(appId)
  const finishedAt = new Date(Date.now() - minutesAgo * 60_000)
  await changeImport(database.db, importId, { state: 'failed', finished_at: finishedAt })
  return importId
}

/** Returns the retried imports of an app in the order of their retries. */
async function retriesOf(appId: number): Promise<(string | null)[]> {
  const { db } = database
  const found = db.selectFrom('imports').select('retry_of').where('app_id', '=', appId).where('state', '=', 'queued')
  return (await found.orderBy('sequence_number').execute()).map((row) => row.retry_of)
}

// changes.md §6.
test('failed imports of all apps are retried, in request order of each app, with an entry for each app and for all', async () => {
  const [one, two] = apps
  const [a, b, c] = [await failed(one), await failed(two), await failed(one)]
  const { code, json } = await run('retry', '--all', '--state', 'failed', '--yes')
  expect(code).toBe(0)
  expect(json).toEqual({
    count: 3,
    imports: [a, c, b].map((id) => ({ import_id: id, retry_id: expect.any(String), reason: null })),
  })
  expect([await retriesOf(one), await retriesOf(two)]).toEqual([[a, c], [b]])
  const { entries } = await auditLogPage(database.db, {}, 3)
  expect(entries.map(({ app_id: appId, what, target }) => [appId, what, target]).sort()).toEqual(
    [
      [one, 'import.retry', '2 imports'],
      [two, 'import.retry', '1 import'],
      [null, 'import.retry', '3 imports of 2 apps'],
    ].sort(),
  )

  // All of them are being retried now.
  expect(await run('retry', '--all', '--state', 'failed', '--yes')).toMatchObject({
    code: 0,
    json: { count: 0, imports: [] },
  })
})

test('500 failed imports of 20 apps are retried by one command, after a dry run of the same', async () => {
  const all = await Array.fromAsync({ length: 20 }, (_, n) => newApp(`App ${n}`))
  const imports = await Promise.all(all.map((appId) => Array.fromAsync({ length: 25 }, () => failed(appId))))
  const retried = imports.flat().map((id) => ({ import_id: id, retry_id: null, reason: null }))
  const dryRun = await run('retry', '--all', '--state', 'failed', '--dry-run')
  expect(dryRun.json).toEqual({ count: 500, imports: retried })
  const { json } = await run('retry', '--all', '--state', 'failed', '--yes')
  expect(json).toEqual({ count: 500, imports: retried.map((each) => ({ ...each, retry_id: expect.any(String) })) })
  for (const [n, appId] of all.entries()) expect(await retriesOf(appId)).toEqual(imports[n])
  const { entries } = await auditLogPage(database.db, {}, 21)
  expect(entries.find((entry) => entry.app_id === null)?.target).toBe('500 imports of 20 apps')
  expect(
    entries
      .filter((entry) => entry.target === '25 imports')
      .map((entry) => entry.app_id)
      .sort(),
  ).toEqual(all.sort())
})

test('of an import and its retries only the last one counts; what cannot be retried is listed with its reason', async () => {
  const [one, two] = apps
  const first = await failed(one)
  await run('retry', first)
  await database.db
    .updateTable('imports')
    .set({ state: 'failed', finished_at: new Date() })
    .where('retry_of', '=', first)
    .execute()
  const gone = await failed(two)
  await changeImport(database.db, gone, { files_removed_at: new Date() })
  const { json } = await run('retry', '--all', '--state', 'failed', '--dry-run')
  expect(json).toEqual({
    count: 2,
    imports: [
      { import_id: expect.not.stringContaining(first), retry_id: null, reason: null },
      { import_id: gone, retry_id: null, reason: 'its file is no longer stored' },
    ],
  })
  const text = async (...more: string[]) => {
    const args = ['imports', 'retry', '--all', '--state', 'failed', '--dry-run', ...more]
    return (await runSluice(args, { DATABASE_URL: database.url, ...bucket.environment })).stdout
  }
  expect(await text()).toMatch(new RegExp(`^IMPORT +APP +REASON\n.+ ${one} +-\n${gone} +${two} +its file is no longer`))
  expect(await text('--app', String(one))).toMatch(new RegExp(`^IMPORT +APP\n.+ ${one}\n$`))
  expect(await retriesOf(one)).toEqual([])
})

test('the app and the times of the ends choose among failed imports', async () => {
  const [one, two] = apps
  const [old, recent] = [await failed(one, 180), await failed(one, 60)]
  await failed(two)
  const list = async (...args: string[]) => {
    const { json } = await run('retry', '--all', '--state', 'failed', '--app', String(one), '--dry-run', ...args)
    return (json as { imports: { import_id: string }[] }).imports.map(({ import_id: id }) => id)
  }
  expect(await list()).toEqual([old, recent])
  expect(await list('--since', '2h')).toEqual([recent])
  expect(await list('--until', '2h')).toEqual([old])
})

// changes.md §6.
test('unfinished imports are cancelled together, so that no waiting import starts in between', async () => {
  const [one, two] = apps
  const ids = [await queued(one), await queued(one), await queued(two)]
  const { json } = await run('cancel', '--all', '--state', 'queued', '--yes')
  expect(json).toEqual({ count: 3, imports: ids.map((id) => ({ import_id: id, retry_id: null, reason: null })) })
  const { db } = database
  const found = await db.selectFrom('imports').select('finished_at').where('state', '=', 'cancelled').execute()
  const times = found.map((row) => Number(row.finished_at))
  expect([times.length, new Set(times).size]).toEqual([3, 2])
})

test('the app and the times of the requests choose among unfinished imports', async () => {
  const [one, two] = apps
  const [old, recent] = [await queued(one), await queued(one)]
  await queued(two)
  await changeImport(database.db, old, { requested_at: new Date(Date.now() - 180 * 60_000) })
  const list = async (...args: string[]) => {
    const { json } = await run('cancel', '--all', '--app', String(one), ...args)
    return (json as { imports: { import_id: string }[] }).imports.map(({ import_id: id }) => id)
  }
  expect(await list('--dry-run')).toEqual([old, recent])
  expect(await list('--dry-run', '--until', '2h')).toEqual([old])
  expect(await list('--since', '2h', '--yes')).toEqual([recent])
  expect(await list('--dry-run')).toEqual([old])
})

test.for([
  [['retry', '--all'], '--all needs --state failed or --state cancelled'],
  [['retry', '--all', '--state', 'queued', '--yes'], '--all needs --state failed or --state cancelled'],
  [['retry', '--all', crypto.randomUUID()], '--all and the ID of an import exclude each other'],
  [['retry', crypto.randomUUID(), '--dry-run'], '--dry-run and --yes need --all'],
  [['retry', '--all', '--wait', '--state', 'failed'], '--wait needs the ID of an import'],
  [['retry'], 'the ID of an import is missing, or --all'],
  [
    ['cancel', '--all', '--state', 'failed', '--yes'],
    '--state must be one of awaiting_upload, queued, processing, held',
  ],
] as const)('%s is wrong usage', async ([args, message]) => {
  expect(await run(...args)).toMatchObject({ code: 2, output: expect.stringContaining(message) })
})

test('without a terminal and without --yes nothing happens', async () => {
  const [one] = apps
  await failed(one)
  expect(await run('retry', '--all', '--state', 'failed')).toMatchObject({
    code: 2,
    output: expect.stringContaining('add --yes to retry 1 import of 1 app'),
  })
  expect(await retriesOf(one)).toEqual([])
})
