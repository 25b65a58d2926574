import { createApp } from '@sluice/accounts'
import { type Database, sql } from '@sluice/database'
import {
  type Heartbeat,
  importOverview,
  listWorkers,
  mailOverview,
  openHeartbeat,
  rowsByMinute,
} from '@sluice/operations'
import { beforeEach, expect, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { until } from '../environment/wait.ts'

let db: Database
let appId: number
beforeEach(async () => {
  const database = await openTestDatabase()
  db = database.db
  appId = (await createApp(db, { name: 'Shop', email: 'ann@example.com' })).appId
  return () => database.close()
})

/** Inserts an import. `times` are SQL expressions of `now()`. Returns its ID. */
async function insertImport(
  state: string,
  times: { requested?: string; queued?: string; started?: string; finished?: string },
  rows = 0,
): Promise<string> {
  const at = (time: string | undefined) => (time === undefined ? sql`null` : sql`now() - ${time}::interval`)
  const { rows: inserted } = await sql<{ import_id: string }>`
    insert into imports (app_id, source, content_type, object_key, state, rows_total, error, lease_until,
      requested_at, queued_at, started_at, finished_at)
    values (${appId}, 'v3', 'text/csv', 'none', ${state}, ${rows}, ${state === 'failed' ? 'empty file' : null},
      ${state === 'processing' ? sql`now() + interval '1 hour'` : sql`null`},
      ${at(times.requested ?? '2 days')}, ${at(times.queued)}, ${at(times.started)}, ${at(times.finished)})
    returning import_id`.execute(db)
  return inserted[0]?.import_id ?? ''
}

test('the overview counts unfinished imports and recently ended imports', async () => {
  await insertImport('awaiting_upload', {})
  const oldest = await insertImport('queued', { queued: '3 minutes' })
  const other = await createApp(db, { name: 'Other', email: 'ann@example.com' })
  await sql`update imports set app_id = ${other.appId} where import_id = ${oldest}`.execute(db)
  await insertImport('queued', { queued: '2 minutes' })
  await insertImport('completed', { finished: '23 hours' })
  await insertImport('completed', { finished: '25 hours' })
  await insertImport('failed', { finished: '25 hours' })
  for (let failure = 0; failure < 11; failure++) await insertImport('failed', { finished: `${20 - failure} hours` })
  const { active, ended, oldestWaiting, failures } = await importOverview(db)
  expect(active).toEqual({ awaiting_upload: 1, queued: 2 })
  expect(ended).toEqual({ completed: 1, failed: 11 })
  expect(oldestWaiting).toMatchObject({ appName: 'Other', importId: oldest })
  expect(failures).toHaveLength(10)
  expect(failures.every(({ error, appName }) => error === 'empty file' && appName === 'Shop')).toBe(true)
  const hours = failures.map(({ failedAt }) => Math.round((Date.now() - failedAt.getTime()) / 3_600_000))
  expect(hours, 'newest first').toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
})

test('an empty deployment has an empty overview', async () => {
  expect(await importOverview(db)).toEqual({
    active: {},
    ended: {},
    oldestWaiting: undefined,
    failures: [],
    pausedApps: [],
    allPausedSince: undefined,
  })
  expect(await mailOverview(db)).toEqual({ waiting: 0, waitingSince: undefined, failed: 0 })
  expect(await listWorkers(db)).toEqual([])
  expect((await rowsByMinute(db)).map(({ rows }) => rows)).toEqual(Array(60).fill(0))
})

test('the rows of an import count evenly over its running time, as far as it is in the last hour', async () => {
  await insertImport('completed', { started: '12 minutes', finished: '2 minutes' }, 600)
  await insertImport('completed', { started: '119 minutes', finished: '59 minutes' }, 6_000)
  await insertImport('completed', { started: '3 hours', finished: '2 hours' }, 1_000_000)
  await insertImport('processing', { started: '30 seconds' }, 50)
  const minutes = await rowsByMinute(db)
  expect(minutes).toHaveLength(60)
  expect(minutes.toSorted((a, b) => a.minute.getTime() - b.minute.getTime())).toEqual(minutes)
  // A whole minute of the first import: a tenth of its rows.
  expect(minutes.at(-6)?.rows).toBeCloseTo(60, 3)
  const total = minutes.reduce((sum, { rows }) => sum + rows, 0)
  // At most one minute of the second import is within the last hour: 100 rows.
  expect(total).toBeGreaterThanOrEqual(650 - 0.001)
  expect(total).toBeLessThanOrEqual(750 + 0.001)
})

test('the overview counts waiting mails and recently failed mails, however long the failed ones were tried', async () => {
  const insertMail = (event: string, state: string, age: string, failed: string | null = null) =>
    sql`insert into mails (app_id, event, recipient, subject, text, html, state, created_at, failed_at)
      values (${appId}, ${event}, 'ann@example.com', '', '', '', ${state}, now() - ${age}::interval,
        now() - ${failed}::interval)`.execute(db)
  await insertMail('a', 'waiting', '3 days')
  await insertMail('b', 'waiting', '1 minute')
  await insertMail('c', 'failed', '6 days', '23 hours')
  await insertMail('d', 'failed', '6 days', '25 hours')
  await insertMail('e', 'sent', '1 minute')
  const { waiting, waitingSince, failed } = await mailOverview(db)
  expect([waiting, failed]).toEqual([2, 1])
  expect((Date.now() - (waitingSince?.getTime() ?? 0)) / 86_400_000).toBeCloseTo(3, 2)
})

test('a worker is lost after 25 s without a heartbeat, and forgotten after an hour', async () => {
  const insertWorker = (host: string, age: string) =>
    sql`insert into workers (worker_id, host, pid, queues, import_ids, seen_at)
      values (${crypto.randomUUID()}, ${host}, 1, '{imports}', '{}', now() - ${age}::interval)`.execute(db)
  await insertWorker('alive', '23 seconds')
  await insertWorker('lost', '26 seconds')
  await insertWorker('long lost', '59 minutes')
  await insertWorker('gone', '61 minutes')
  const workers = await listWorkers(db)
  expect(workers.map(({ host, isLost }) => [host, isLost])).toEqual([
    ['alive', false],
    ['long lost', true],
    ['lost', true],
  ])
})

test('the oldest live workers host maintenance; the next one follows when one of them stops or is lost', async () => {
  const chosen: number[] = []
  const open = async (number: number, queues = ['imports', 'maintenance']) => {
    const heartbeat = openHeartbeat(db, queues, (error) => expect.unreachable(String(error)))
    void heartbeat.untilAmongOldest(2).then(() => chosen.push(number))
    await heartbeat.during(crypto.randomUUID(), async () => {})
    await until('its first heartbeat', async () => (await listWorkers(db)).length >= number)
    return heartbeat
  }
  const beatOf = (heartbeat: Heartbeat) => heartbeat.during(crypto.randomUUID(), async () => {})

  const first = await open(1, ['imports'])
  const second = await open(2)
  const third = await open(3)
  const fourth = await open(4)
  const fifth = await open(5)
  await until('the first choice', () => chosen.length === 3)
  expect(chosen.toSorted()).toEqual([1, 2, 3])

  await second.stop()
  await beatOf(fourth)
  await until('the second choice', () => chosen.length === 4)
  await sql`update workers set seen_at = now() - interval '26 s'
    where started_at < (select max(started_at) from workers)`.execute(db)
  await beatOf(fifth)
  await until('the third choice', () => chosen.length === 5)
  expect(chosen.slice(3)).toEqual([4, 5])
  await Promise.all([first, third, fourth, fifth].map((heartbeat) => heartbeat.stop()))
})
