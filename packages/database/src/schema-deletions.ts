import type { Generated } from 'kysely'
import type { NullableTimestamp, Timestamp } from './timestamps.ts'

export type DeletionState = 'accepted' | 'started' | 'completed'

/** Kept for good, as proof of what was asked for and done. */
export interface DeletionRequestsTable {
  app_id: number
  request_id: Generated<string>
  /** Of the API token that the request came with. */
  token_last_four: string
  state: Generated<DeletionState>
  accepted_at: Timestamp
  /** When it is to start and to complete. */
  starts_at: Timestamp
  completes_at: Timestamp
  /** When maintenance saw to it. */
  started_at: NullableTimestamp
  completed_at: NullableTimestamp
  /** Of the hashes in `deleted_users`. */
  salt: Buffer
  users_requested: number
  /** The users, registered or not, whose deletion completed by this request: an earlier one may have named them too. */
  users_settled: Generated<number>
  /** Of those, the ones who were there, and their profile values. */
  users_deleted: Generated<number>
  values_deleted: Generated<number>
}

/** The users that a request names, until they are deleted. */
export interface DeletionRequestUsersTable {
  app_id: number
  user_id: string
  request_id: string
}

/** The users that a request named: SHA-256 of its salt and the ID in UTF-8, so that a known ID can be shown to be among them. */
export interface DeletedUsersTable {
  app_id: number
  request_id: string
  user_hash: Buffer
  deleted_at: Timestamp
}

/**
 * The user IDs that were deleted lately, registered or not, as SHA-256 of the app's salt and the ID in UTF-8: data that was sent
 * before is not applied to whoever registers under such an ID again.
 */
export interface RecentlyDeletedUsersTable {
  app_id: number
  user_hash: Buffer
  /** By the clock of Postgres, also in a rehearsal. */
  deleted_at: Timestamp
}
