import { type Database, sql } from '@sluice/database'

/** Deletion requests in all apps that are not completed, and those of them whose time to complete has come. */
export async function deletionBacklog(db: Database): Promise<{ open: number; due: number }> {
  const { rows } = await sql<{ open: number; due: number }>`
    select count(*) as open, count(*) filter (where completes_at <= now()) as due
    from deletion_requests where state <> 'completed'
  `.execute(db)
  return rows[0] ?? { open: 0, due: 0 }
}
