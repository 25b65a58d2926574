import type { ValueType } from './value-type.ts'

// Types of what clients read and write. The client package publishes this file, so the types must need no library.
// wire-types.test.ts compares the types with the schemas that the API checks and documents.

/** States of an import. */
export type ImportState = 'awaiting_upload' | 'queued' | 'processing' | 'completed' | 'failed' | 'expired' | 'cancelled'

/** The upload route of an import. */
export type ImportSource = 'v3' | 'v2' | 'dashboard' | 'bucket'

/** What an import does with new keys, which are neither registered nor declared: register them, or refuse the file. */
export type NewKeys = 'register' | 'refuse'

/** Warns that a type was inferred that may be wrong (second-day.md §1). */
export interface ImportWarning {
  key: string
  type: 'int' | 'decimal' | 'string'
  message: string
  /** At most three values. */
  examples: string[]
}

/** An import as the API and the command line show it (design.md §2). */
export interface ImportView {
  import_id: string
  state: ImportState
  source: ImportSource
  /** Name of the file for people; null if the request did not name it. */
  file_name: string | null
  /** Present only for a dry run, which applies no row. */
  dry_run?: true | undefined
  /** Present only for a retry: the import whose file it imports again. */
  retry_of?: string | undefined
  /** Present only while the import waits because an operator has paused its app, or all apps. */
  paused?: true | undefined
  rows_total: number
  rows_applied: number
  rows_failed: number
  /** Applied rows that wrote something. A row whose values a profile already holds writes nothing. */
  rows_changed: number
  /** Why the import failed; null unless it did. */
  error: string | null
  /** Link to the file of invalid rows, which is valid for 7 days; null without such a file. */
  error_file_url: string | null
  /** Present only if the error file leaves rows out: invalid rows from this data row on are counted, but not kept. */
  error_file_ends_before_row?: number | undefined
  /** The type of each column, by key. */
  types: Record<string, ValueType>
  warnings: ImportWarning[]
  /** Times are ISO 8601 in UTC. */
  requested_at: string
  started_at: string | null
  finished_at: string | null
}

/** A page of an app's imports, newest request first. */
export interface ImportList {
  imports: ImportView[]
  /** For the next page; null on the last page. */
  next_cursor: string | null
}

/** Answer of the first request (service.md, Upload descriptor). */
export interface UploadDescriptor {
  direct_upload: {
    /** The pre-signed address. */
    url: string
    /** The headers that the second request must send. */
    headers: { 'Content-Type': string; 'Content-MD5': string }
  }
}

/** States of an export. */
export type ExportState = 'queued' | 'processing' | 'completed' | 'failed'

/** Answer of `POST /v1/exports` (an extension). */
export interface ExportAnswer {
  export_id: string
  state: 'queued'
}

/** An export as the API and the command line show it. */
export interface ExportView {
  export_id: string
  state: ExportState
  /** Users in the file; 0 until the export is completed. */
  rows: number
  /** Size of the file; while the export runs, the bytes so far. */
  bytes: number
  /** Link to the file, which is valid for 7 days; null without a file. */
  file_url: string | null
  error: string | null
  requested_at: string
  finished_at: string | null
}

/** A registered profile key as the API and the command line show it (design.md §2). */
export interface ProfileKeyView {
  key: string
  type: ValueType
  registered_at: string
}

/** Answer of `GET` and `POST /v1/profile_keys`: keys sorted by the bytes of their names. */
export interface ProfileKeysAnswer {
  profile_keys: ProfileKeyView[]
}

/** One value of one key (service.md, Profile entry). A datetime is in UTC. */
export interface ProfileEntry {
  key: string
  type: ValueType
  value: string | number
}

/**
 * Answer of `POST /v2/user_profiles`: all entries in the order of the request. An entry that a later entry of the same
 * key replaces is included.
 */
export interface ProfileUpdateAnswer {
  user_id: string
  user_profiles: ProfileEntry[]
}

/** Answer of `POST /v1/users` after all users are registered. */
export interface UserRegistrationAnswer {
  status: 'accepted'
}

/** State of the pending deletion of a user. A completed deletion leaves no user to show. */
export type UserDeletionState = 'accepted' | 'started'

/** One user with all values, as the API and `sluice user show` show it (design.md §2). */
export interface UserDocument {
  user_id: string
  /** Every value, by key. A datetime is in UTC. */
  profiles: Record<string, { type: ValueType; value: string | number }>
  /** False from the start of a deletion. */
  campaign_target: boolean
  /** The pending deletion with the earliest dates; null if there is none. */
  deletion: { state: UserDeletionState; accepted_at: string; starts_at: string; completes_at: string } | null
}
