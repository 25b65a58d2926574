import { type RawBuilder, sql } from 'kysely'
import type { Database } from './connect.ts'

/**
 * The time by the clock of Postgres: what happens once and cannot be undone goes by this one clock, and not by those of
 * the machines that the processes run on.
 */
export async function currentTime(db: Database): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select now() as now`.execute(db)
  const now = rows[0]?.now
  if (now === undefined) throw new Error('Postgres does not tell the time')
  return now
}

/** Postgres's `now()` is when a transaction began: another one may have begun this much later and committed before, ms. */
const slack = 60_000

/**
 * A condition: the stored time has come, or lies further ahead than anyone stores it. In that case Postgres's clock was set back,
 * by a failover for example, and the time is taken to have come: the wait is bounded whatever the size of the step.
 *
 * Accepts the time, an expression, and how far ahead of its own moment a process may store it (ms).
 */
export function isDue(time: RawBuilder<unknown>, furthest: number): RawBuilder<boolean> {
  return sql`(${time} <= now() or ${isFarAhead(time, furthest)})`
}

/** The second half of {@link isDue}: the time lies further ahead than anyone stores it. */
export function isFarAhead(time: RawBuilder<unknown>, furthest: number): RawBuilder<boolean> {
  return sql`${time} > now() + make_interval(secs => ${(furthest + slack) / 1000})`
}
