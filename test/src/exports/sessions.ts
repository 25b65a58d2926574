import { type Database, sql } from '@sluice/database'

/** Returns the last statements of the other sessions of this database that are in a transaction. */
export async function sessionsInTransaction(db: Database): Promise<string[]> {
  const { rows } = await sql<{ query: string }>`
    select query from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
  `.execute(db)
  return rows.map(({ query }) => query)
}
