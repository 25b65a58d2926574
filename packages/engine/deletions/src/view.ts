import { type Database, type DeletionState, sql } from '@sluice/database'

/** A deletion request as `sluice deletions list` shows it. Times are ISO 8601 in UTC. */
export interface DeletionRequestView {
  request_id: string
  state: DeletionState
  /** The last four characters of the request's API token; null if the request was made in the dashboard. */
  token_last_four: string | null
  accepted_at: string
  starts_at: string
  completes_at: string
  /** When maintenance started and completed the request; null before. */
  started_at: string | null
  completed_at: string | null
  users_requested: number
  /** Registered users whom this request deleted. The next field counts their profile values. */
  users_deleted: number
  values_deleted: number
}

/** Returns an app's deletion requests, newest first, at most `limit`. */
export async function listDeletions(db: Database, appId: number, limit: number): Promise<DeletionRequestView[]> {
  const rows = await db
    .selectFrom('deletion_requests')
    .select(['request_id', 'state', 'token_last_four', 'accepted_at', 'starts_at', 'completes_at'])
    .select(['started_at', 'completed_at', 'users_requested', 'users_deleted', 'values_deleted'])
    .where('app_id', '=', appId)
    .orderBy('accepted_at', 'desc')
    .orderBy('request_id')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    ...row,
    accepted_at: row.accepted_at.toISOString(),
    starts_at: row.starts_at.toISOString(),
    completes_at: row.completes_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    completed_at: row.completed_at?.toISOString() ?? null,
  }))
}

/**
 * The pending deletion of one user, as `sluice users show` prints it (design.md §2, User view). Times are ISO 8601 in
 * UTC.
 */
export interface UserDeletionView {
  state: DeletionState
  accepted_at: string
  starts_at: string
  completes_at: string
}

/**
 * Returns the pending deletion of a user, with the earliest dates of all requests that name the user; null if there is
 * none.
 */
export async function showUserDeletion(db: Database, appId: number, userId: string): Promise<UserDeletionView | null> {
  const row = await db
    .selectFrom('deletion_request_users as d')
    .innerJoin('deletion_requests as r', (join) =>
      join.onRef('r.app_id', '=', 'd.app_id').onRef('r.request_id', '=', 'd.request_id'),
    )
    .select(['r.accepted_at', 'r.starts_at', 'r.completes_at'])
    // A deletion that is due counts as started even before maintenance changes its state, as in the view
    // `campaign_targets`.
    .select(sql<boolean>`r.state <> 'accepted' or r.starts_at <= now()`.as('started'))
    .where('d.app_id', '=', appId)
    .where('d.user_id', '=', userId)
    .orderBy('r.accepted_at')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return null
  return {
    state: row.started ? 'started' : 'accepted',
    accepted_at: row.accepted_at.toISOString(),
    starts_at: row.starts_at.toISOString(),
    completes_at: row.completes_at.toISOString(),
  }
}
