import { type Database, sql } from '@sluice/database'

/** Requests that complete on the same date and were accepted on the same day (UTC). */
export interface DeletionGroup {
  acceptedAt: Date
  startsAt: Date
  completesAt: Date
  requests: number
  users: number
}

/** Maximum number of open requests that are read. A page says if there are more. */
const maxRequests = 10_000

/**
 * Returns the open deletions of an app in groups, earliest completion first. A group's times are the earliest of its
 * requests. `isCut` says that there may be more requests than were read.
 */
export async function openDeletions(db: Database, appId: number): Promise<{ groups: DeletionGroup[]; isCut: boolean }> {
  const { rows } = await sql<{
    accepted_at: Date
    starts_at: Date
    completes_at: Date
    requests: number
    users: number
  }>`
    select min(accepted_at) as accepted_at, min(starts_at) as starts_at, completes_at,
      count(*) as requests, sum(users_requested)::bigint as users
    from (
      select accepted_at, starts_at, completes_at, users_requested from deletion_requests
      where app_id = ${appId} and state <> 'completed'
      order by completes_at, request_id limit ${maxRequests}
    ) as open
    group by completes_at, date_trunc('day', accepted_at)
    order by completes_at, accepted_at
  `.execute(db)
  const groups = rows.map((row) => ({
    acceptedAt: row.accepted_at,
    startsAt: row.starts_at,
    completesAt: row.completes_at,
    requests: row.requests,
    users: row.users,
  }))
  return { groups, isCut: groups.reduce((sum, { requests }) => sum + requests, 0) === maxRequests }
}

/** Counts the open deletion requests of all apps, and how many of these are due to complete. */
export async function deletionBacklog(db: Database): Promise<{ open: number; due: number }> {
  const { rows } = await sql<{ open: number; due: number }>`
    select count(*) as open, count(*) filter (where completes_at <= now()) as due
    from deletion_requests where state <> 'completed'
  `.execute(db)
  return rows[0] ?? { open: 0, due: 0 }
}
