import type { ExportState, ValueType } from '@sluice/contract'
import type { Generated } from 'kysely'
import type { NullableTimestamp, Timestamp } from './timestamps.ts'

export interface UsersTable {
  app_id: number
  user_id: string
  registered_at: Timestamp
}

/** A user who never had a value has no row. Every row belongs to a registered user. */
export interface ProfilesTable {
  app_id: number
  user_id: string
  /** `hstore`: the texts of values by key, typed by `profile_keys`. A number has no exponent, and a time is in UTC. */
  attributes: string
  updated_at: Timestamp
  /**
   * Hash of the last imported row that was merged, if `attributes` still hold its values; otherwise null. Any other
   * change of `attributes` sets it to null in the same statement.
   */
  row_hash: string | null
}

export interface ProfileKeysTable {
  app_id: number
  key: string
  type: ValueType
  registered_at: Timestamp
  /** Values of a disabled key stay stored, and nothing reads or writes them. */
  enabled: Generated<boolean>
  description: string | null
}

export type DeletionState = 'accepted' | 'started' | 'completed'

/** Requests are removed only with their app: they prove what was requested and done. */
export interface DeletionRequestsTable {
  app_id: number
  request_id: Generated<string>
  /** The last four characters of the request's API token; null if the request was made in the dashboard. */
  token_last_four: string | null
  state: Generated<DeletionState>
  accepted_at: Timestamp
  /** When the deletion is due to start and to complete. */
  starts_at: Timestamp
  completes_at: Timestamp
  /** When maintenance started and completed the request. */
  started_at: NullableTimestamp
  completed_at: NullableTimestamp
  /** Salt of the hashes in `deleted_users`. */
  salt: Buffer
  users_requested: number
  /**
   * Users, registered or not, whose deletion counts for this request. A user whom several requests name counts for one
   * of them.
   */
  users_processed: Generated<number>
  /** Number of these users who were registered, and number of their profile values. */
  users_deleted: Generated<number>
  values_deleted: Generated<number>
}

/** Users that a request names. A row is removed when the user is deleted. */
export interface DeletionRequestUsersTable {
  app_id: number
  user_id: string
  request_id: string
}

/**
 * Deleted users of a request, each as SHA-256 of the request's salt and the user's ID in UTF-8. For a known ID, the
 * hash proves that the request named the user.
 */
export interface DeletedUsersTable {
  app_id: number
  request_id: string
  user_hash: Buffer
  deleted_at: Timestamp
}

/**
 * User IDs that were recently deleted, registered or not, as SHA-256 of the app's salt and the ID in UTF-8. If an ID is
 * registered again, data that was sent before the deletion is not applied to the new user.
 */
export interface RecentlyDeletedUsersTable {
  app_id: number
  user_hash: Buffer
  /**
   * By the clock of Postgres, even if `runDeletions` of packages/engine/deletions is called with another time. At least
   * the time of the newest unannounced file that precedes the deletion.
   */
  deleted_at: Timestamp
  /** Data with a lower number was sent before the deletion. */
  data_order: Generated<number>
}

/** Exports of the profiles of an app (packages/engine/exports). */
export interface ExportsTable {
  app_id: number
  export_id: Generated<string>
  /** The columns after `user_id`; null for all keys of the app, by name. */
  keys: string[] | null
  state: Generated<ExportState>
  /** How often the export was claimed or restarted. A worker writes only under the current attempt. */
  attempt: Generated<number>
  /** Number of claims that count against the limit of attempts. */
  tries: Generated<number>
  lease_until: NullableTimestamp
  retry_at: NullableTimestamp
  rows: Generated<number>
  /** Bytes of the file; while the export runs, the bytes so far. */
  bytes: Generated<number>
  error: string | null
  file_secret: string | null
  file_expires_at: NullableTimestamp
  files_removed_at: NullableTimestamp
  /** When the files are removed a second time. Until then, a late write may store a removed file again. */
  sweep_at: NullableTimestamp
  /** Drawn from `data_order` before the attempt's snapshot: deletions with a lower number are in the snapshot. */
  snapshot_order: number | null
  requested_at: Timestamp
  started_at: NullableTimestamp
  finished_at: NullableTimestamp
}
