import { createApp } from '@sluice/accounts'
import { type Database, sql } from '@sluice/database'
import { importBacklog } from '@sluice/imports'
import { mailOverview } from '@sluice/mail'
import { type Heartbeat, importOverview, listWorkers, openHeartbeat, rowsByMinute } from '@sluice/operations'
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

// changes.md §2, Held.
test('a held import is shown with its age, and the imports that wait for it do not count as waiting', async () => {
  const held = await insertImport('held', { queued: '3 hours' })
  await sql`update imports set held_at = now() - interval '2 hours' where import_id = ${held}`.execute(db)
  const waiting = await insertImport('queued', { queued: '1 hour' })
  const { active, oldestWaiting, oldestHeld } = await importOverview(db)
  expect(active).toEqual({ held: 1, queued: 1 })
  expect([oldestWaiting, oldestHeld?.importId]).toEqual([undefined, held])
  const backlog = await importBacklog(db)
  expect(backlog).toMatchObject({ states: { held: 1, queued: 1 }, runnable: 0, oldestWaiting: { one: 0 } })
  expect(Math.round(backlog.oldestHeld)).toBeCloseTo(7200, -2)
  await sql`update imports set dry_run = true where import_id = ${waiting}`.execute(db)
  expect((await importOverview(db)).oldestWaiting).toMatchObject({ importId: waiting })
  const { runnable, oldestWaiting: waits } = await importBacklog(db)
  expect([runnable, Math.round(waits.one / 3600)]).toEqual([1, 1])
})

test('an empty deployment has an empty overview', async () => {
  expect(await importOverview(db)).toEqual({
    active: {},
    ended: {},
    oldestWaiting: undefined,
    oldestHeld: undefined,
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
  // Mails that wait for their app's next hour are no reason to check the mail server.
  await sql`insert into mail_counts (app_id, began_at, mails, most) values (${appId}, now(), 5, 5)`.execute(db)
  expect(await mailOverview(db)).toEqual({ waiting: 2, waitingSince: undefined, failed: 1 })
})

test('a worker is lost if it does not report in time, and forgotten after an hour', async () => {
  const insertWorker = (host: string, age: string, lostAfter: string) =>
    sql`insert into workers (worker_id, host, pid, queues, import_ids, seen_at, lost_at)
      values (${crypto.randomUUID()}, ${host}, 1, '{imports}', '{}', now() - ${age}::interval,
        now() - ${age}::interval + ${lostAfter}::interval)`.execute(db)
  await insertWorker('alive', '23 seconds', '25 seconds')
  await insertWorker('lost', '11 seconds', '10 seconds')
  await insertWorker('long lost', '59 minutes', '25 seconds')
  await insertWorker('gone', '61 minutes', '25 seconds')
  const workers = await listWorkers(db)
  expect(workers.map(({ host, isLost }) => [host, isLost])).toEqual([
    ['alive', false],
    ['long lost', true],
    ['lost', true],
  ])
})

test('a worker that was lost before Postgres’s clock was set back stays lost, and its place as a host is taken', async () => {
  const { hosts, heartbeats, stop } = await openHeartbeats(Array.from({ length: 4 }, () => ['maintenance']))
  await until('the first choice', () => hosts.length === 3)
  await heartbeats[0]?.stop()
  await sql`insert into workers (worker_id, host, pid, queues, import_ids, started_at, seen_at, lost_at)
    values (${crypto.randomUUID()}, 'before the step', 1, '{maintenance}', '{}', now() - interval '1 hour',
      now() + interval '1 day', now() + interval '1 day 10 seconds')`.execute(db)
  await beatOf(heartbeats[3])
  await until('the second choice', () => hosts.length === 4)
  expect((await listWorkers(db)).find(({ host }) => host === 'before the step')?.isLost).toBe(true)
  await stop()
})

/**
 * Opens the heartbeat of a worker for each list of queues, one after another. `hosts` are the numbers of the workers
 * that were selected so far.
 */
async function openHeartbeats(queues: readonly (readonly string[])[]) {
  const hosts: number[] = []
  const heartbeats: Heartbeat[] = []
  for (const [index, own] of queues.entries()) {
    const heartbeat = openHeartbeat(db, own, (error) => expect.unreachable(String(error)))
    void heartbeat.untilMaintenanceHost().then(() => hosts.push(index + 1))
    await heartbeat.during(crypto.randomUUID(), async () => {})
    await until('its first heartbeat', async () => (await listWorkers(db)).length > index)
    heartbeats.push(heartbeat)
  }
  return { hosts, heartbeats, stop: () => Promise.all(heartbeats.map((each) => each.stop())) }
}

/** Seconds until each worker counts as lost, oldest worker first. */
async function secondsLeft(): Promise<number[]> {
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from lost_at - seen_at)::float8 as seconds from workers order by started_at`.execute(db)
  return rows.map(({ seconds }) => seconds)
}

const beatOf = (heartbeat: Heartbeat | undefined) => heartbeat?.during(crypto.randomUUID(), async () => {})

test('the oldest three live workers host maintenance; the next one follows when one of them stops or is lost', async () => {
  const both = ['imports', 'maintenance']
  const { hosts, heartbeats, stop } = await openHeartbeats([['imports'], both, both, both, both, both])
  await until('the first choice', () => hosts.length === 4)
  expect(hosts.toSorted(), 'the first has no other worker before it').toEqual([1, 2, 3, 4])

  await heartbeats[1]?.stop()
  await beatOf(heartbeats[4])
  await until('the second choice', () => hosts.length === 5)
  await sql`update workers set lost_at = now() - interval '1 s'
    where started_at < (select max(started_at) from workers)`.execute(db)
  await beatOf(heartbeats[5])
  await until('the third choice', () => hosts.length === 6)
  expect(hosts.slice(4)).toEqual([5, 6])
  await stop()
})

test('the hosts of maintenance and the next three count as lost soon, the workers behind them later', async () => {
  const { heartbeats, stop } = await openHeartbeats(Array.from({ length: 7 }, () => ['maintenance']))
  for (const heartbeat of heartbeats) await beatOf(heartbeat)
  await until('the reports', async () => (await secondsLeft()).at(-1) === 25)
  expect(await secondsLeft()).toEqual([10, 10, 10, 10, 10, 10, 25])
  await stop()
})
