import { createApp } from '@sluice/accounts'
import { type Database, sql } from '@sluice/database'
import { historyPeriods, historyRecordedAt, readHistory, recordHistory } from '@sluice/operations'
import { beforeEach, expect, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'

let db: Database
let appId: number
beforeEach(async () => {
  const database = await openTestDatabase()
  db = database.db
  appId = (await createApp(db, { name: 'Shop', email: 'ann@example.com' })).appId
  return () => database.close()
})

/** Inserts an import that began `began` minutes ago and ended `ended` minutes ago. */
async function insertEnded(state: 'completed' | 'failed', began: number, ended: number, rows = 0): Promise<void> {
  await sql`
    insert into imports (app_id, source, content_type, object_key, state, rows_total, requested_at, started_at, finished_at)
    values (${appId}, 'v3', 'text/csv', 'none', ${state}, ${rows}, now() - interval '30 days',
      now() - make_interval(mins => ${began}), now() - make_interval(mins => ${ended}))`.execute(db)
}

async function insertWaiting(app = appId, state = 'queued'): Promise<void> {
  await sql`
    insert into imports (app_id, source, content_type, object_key, state, requested_at, queued_at)
    values (${app}, 'v3', 'text/csv', 'none', ${state}, now(), now())`.execute(db)
}

/** Moves what was recorded into the past. */
async function age(minutes: number): Promise<void> {
  await sql`update queue_history set slot = slot - make_interval(mins => ${minutes})`.execute(db)
}

const busySlots = async () => (await readHistory(db, '24h')).filter(({ rows }) => rows > 0)

const total = <Key extends 'rows' | 'completed' | 'failed'>(slots: readonly Record<Key, number>[], key: Key) =>
  slots.reduce((sum, slot) => sum + slot[key], 0)

test('the history has rows, completed and failed imports of each slot, also from before it was recorded', async () => {
  await insertEnded('completed', 130, 70, 6_000)
  await insertEnded('failed', 70, 65, 50)
  await insertEnded('completed', 3 * 24 * 60, 3 * 24 * 60 - 10, 1_000)
  await insertEnded('completed', 9 * 24 * 60, 9 * 24 * 60 - 10, 1_000)
  await recordHistory(db)
  const day = await readHistory(db, '24h')
  expect(day).toHaveLength(historyPeriods['24h'].slots)
  expect(total(day, 'rows')).toBeCloseTo(6_050, 3)
  expect([total(day, 'completed'), total(day, 'failed')]).toEqual([1, 1])
  // An import of an hour, in whole slots of a quarter.
  expect(Math.max(...day.map(({ rows }) => rows))).toBeCloseTo(1_500, 3)
  const week = await readHistory(db, '7d')
  expect(week).toHaveLength(historyPeriods['7d'].slots)
  expect(total(week, 'rows')).toBeCloseTo(7_050, 3)
  expect([total(week, 'completed'), total(week, 'failed')]).toEqual([2, 1])
})

test('recording again changes nothing, and keeps figures of imports that were removed since', async () => {
  await insertEnded('completed', 40, 35, 600)
  await recordHistory(db)
  const before = await busySlots()
  await Promise.all([recordHistory(db), recordHistory(db)])
  expect(await busySlots()).toEqual(before)
  await sql`delete from imports`.execute(db)
  await recordHistory(db)
  expect(total(await readHistory(db, '24h'), 'rows')).toBeCloseTo(600, 3)
})

test('waiting imports count, but not in paused apps or after held ones; without workers none is known', async () => {
  await insertWaiting()
  await insertWaiting()
  const openApp = async (name: string) => (await createApp(db, { name, email: 'ann@example.com' })).appId
  const [paused, held] = [await openApp('Paused'), await openApp('Held')]
  for (const app of [paused, held]) await insertWaiting(app)
  await insertWaiting(held, 'held')
  await sql`update apps set paused_at = now() where app_id = ${paused}`.execute(db)
  await recordHistory(db)
  await sql`delete from imports`.execute(db)
  await recordHistory(db)
  // For an hour, no worker runs.
  await age(60)
  await insertEnded('failed', 20, 20)
  await recordHistory(db)
  const waiting = (await readHistory(db, '24h')).map((slot) => slot.waiting)
  const first = waiting.findIndex((imports) => imports !== undefined)
  expect(waiting[first]).toBe(2)
  expect(waiting.slice(first)).toContain(undefined)
  expect(waiting.at(-1)).toBe(0)
  expect(total(await readHistory(db, '24h'), 'failed')).toBe(1)
  expect((await readHistory(db, '7d')).map((slot) => slot.waiting)).toContain(2)
})

test('history has a bounded size', async () => {
  await recordHistory(db)
  const { rows } = await sql<{ slots: number }>`select count(*) as slots from queue_history`.execute(db)
  expect(rows[0]?.slots).toBeLessThanOrEqual(8 * 24 * 4 + 1)
  await age(8 * 24 * 60)
  await recordHistory(db)
  const { rows: later } = await sql<{ slots: number }>`select count(*) as slots from queue_history`.execute(db)
  expect(later[0]?.slots).toBeLessThanOrEqual(8 * 24 * 4 + 1)
  expect(Date.now() - ((await historyRecordedAt(db))?.getTime() ?? 0)).toBeLessThan(60_000)
})
