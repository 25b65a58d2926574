import { type RawBuilder, sql } from 'kysely'
import type { Database } from './connect.ts'

/**
 * Returns the time by the clock of Postgres. Irreversible steps depend on this one clock, never on the clocks of the
 * machines that the processes run on.
 */
export async function currentTime(db: Database): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select now() as now`.execute(db)
  const now = rows[0]?.now
  if (now === undefined) throw new Error('Postgres does not tell the time')
  return now
}

/**
 * Builds the condition that a stored time has come, or that it lies further ahead than any process stores it
 * ({@link isFarAhead}).
 *
 * Accepts the time as an expression, and how far ahead of the present a process may store it (ms).
 */
export function isDue(time: RawBuilder<unknown>, furthestMs: number): RawBuilder<boolean> {
  return sql`is_due(${time}, make_interval(secs => ${furthestMs / 1000}))`
}

/** The conditions on a row's `next_attempt_at`: its next attempt is due, and the two alternatives of that. */
export function dueAttempts(longestPauseSeconds: number) {
  const [time, longestMs] = [sql`next_attempt_at`, longestPauseSeconds * 1000]
  return { isDue: isDue(time, longestMs), isPast: sql`${time} <= now()`, isTooFarAhead: isFarAhead(time, longestMs) }
}

/** Builds the condition that a time lies further ahead than any process stores it: Postgres's clock was set back. */
export function isFarAhead(time: RawBuilder<unknown>, furthestMs: number): RawBuilder<boolean> {
  return sql`is_far_ahead(${time}, make_interval(secs => ${furthestMs / 1000}))`
}
