import { type Database, type DeletionState, sql } from '@sluice/database'

/** A deletion request as `sluice deletions` shows it. Times are ISO 8601 in UTC. */
export interface DeletionRequestView {
  request_id: string
  state: DeletionState
  /** Of the API token that it came with. */
  token_last_four: string
  accepted_at: string
  starts_at: string
  completes_at: string
  /** When maintenance saw to it; null before. */
  started_at: string | null
  completed_at: string | null
  users_requested: number
  /** Of them, those who were registered and went at this request's date; and their profile values. */
  users_deleted: number
  values_deleted: number
}

/** Gives an app's deletion requests, newest first, at most `limit`. */
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

/** The deletion of one user that is under way, as `sluice user show` prints it (design.md §2). Times are ISO 8601 in UTC. */
export interface UserDeletionView {
  state: DeletionState
  accepted_at: string
  starts_at: string
  completes_at: string
}

/** Gives the deletion that awaits a user, with the earliest dates of the requests that name them; null where none does. */
export async function showUserDeletion(db: Database, appId: number, userId: string): Promise<UserDeletionView | null> {
  const row = await db
    .selectFrom('deletion_request_users as d')
    .innerJoin('deletion_requests as r', (join) =>
      join.onRef('r.app_id', '=', 'd.app_id').onRef('r.request_id', '=', 'd.request_id'),
    )
    .select(['r.accepted_at', 'r.starts_at', 'r.completes_at'])
    // As the view `campaign_targets` sees it: by the clock too.
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
