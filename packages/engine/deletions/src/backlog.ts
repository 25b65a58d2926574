import { type Database, sql } from '@sluice/database'

/** Counts the open deletion requests of all apps, and how many of these are due to complete. */
export async function deletionBacklog(db: Database): Promise<{ open: number; due: number }> {
  const { rows } = await sql<{ open: number; due: number }>`
    select count(*) as open, count(*) filter (where completes_at <= now()) as due
    from deletion_requests where state <> 'completed'
  `.execute(db)
  return rows[0] ?? { open: 0, due: 0 }
}
