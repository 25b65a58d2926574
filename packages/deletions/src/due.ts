import { type Database, sql } from '@sluice/database'

/** Requests of one day of acceptance (UTC) that have the same dates. */
export interface DeletionGroup {
  acceptedAt: Date
  startsAt: Date
  completesAt: Date
  requests: number
  users: number
}

/** More open requests than that are not looked at: a page says so. */
const looked = 10_000

/**
 * Gives the deletions of an app that have not completed, those due first, and whether there are more than were looked at.
 * Times of a group are the earliest of its requests.
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
      order by completes_at, request_id limit ${looked}
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
  return { groups, isCut: groups.reduce((sum, { requests }) => sum + requests, 0) === looked }
}
