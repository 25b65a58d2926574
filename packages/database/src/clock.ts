import { sql } from 'kysely'
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
