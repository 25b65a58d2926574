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
 * Tolerance of {@link isFarAhead}, ms. `now()` is the start of this transaction. Another transaction may have begun up
 * to a minute later, stored a time from its own `now()`, and committed first.
 */
const slackMs = 60_000

/**
 * Builds the condition that a stored time has come, or that it lies further ahead than any process stores it. In the
 * second case Postgres's clock was set back, for example by a failover. Treating the time as due bounds the wait,
 * however large the step was.
 *
 * Accepts the time as an expression, and how far ahead of the present a process may store it (ms).
 */
export function isDue(time: RawBuilder<unknown>, furthestMs: number): RawBuilder<boolean> {
  return sql`(${time} <= now() or ${isFarAhead(time, furthestMs)})`
}

/** Builds the condition that a time lies further ahead than any process stores it, for {@link isDue}. */
export function isFarAhead(time: RawBuilder<unknown>, furthestMs: number): RawBuilder<boolean> {
  return sql`${time} > now() + make_interval(secs => ${(furthestMs + slackMs) / 1000})`
}
