import type { ImportState, ValueType } from '@sluice/contract'
import type { ColumnType, Generated, JSONColumnType } from 'kysely'
import type {
  BucketUploadPartsTable,
  BucketUploadsTable,
  UnannouncedFileFailuresTable,
} from './schema-bucket-uploads.ts'
import type {
  DeletedUsersTable,
  DeletionRequestsTable,
  DeletionRequestUsersTable,
  RecentlyDeletedUsersTable,
} from './schema-deletions.ts'
import type { InvitationMailsTable, InvitationsTable, MailCountsTable, MailsTable } from './schema-mails.ts'
import type { NullableTimestamp, Timestamp } from './timestamps.ts'

/**
 * The tables as Kysely sees them; `migrations/` holds the SQL that makes them. Every primary key begins with `app_id`
 * (design.md §5), so that the database can be sharded by app; but for what belongs to people, who may be of several apps.
 *
 * Words, the same in code, SQL, API and documents:
 * - app: a customer of the service, with one API token, its users and its profile keys
 * - import: one uploaded file on its way into profiles; its place in the app's line is `sequence_number`
 * - attempt: how often an import was claimed; a batch commits only under the current attempt
 * - lease: until when the claim holds without a sign of life
 * - position: byte offset in the uncompressed file up to which rows are committed
 * - deletion: what befalls a user, however many deletion requests name it; the earliest dates of them hold
 */
export interface Schema {
  apps: AppsTable
  api_tokens: ApiTokensTable
  access_keys: AccessKeysTable
  members: MembersTable
  users: UsersTable
  profiles: ProfilesTable
  campaign_targets: { app_id: number; user_id: string }
  profile_keys: ProfileKeysTable
  imports: ImportsTable
  import_error_chunks: ImportErrorChunksTable
  import_slot_time: ImportSlotTimeTable
  /** Takes up 1 MiB, which is given up when the disk is full (`disk-full.ts` of packages/imports). */
  disk_reserve: { filler: string }
  bucket_uploads: BucketUploadsTable
  bucket_upload_parts: BucketUploadPartsTable
  unannounced_file_failures: UnannouncedFileFailuresTable
  deletion_requests: DeletionRequestsTable
  deletion_request_users: DeletionRequestUsersTable
  deleted_users: DeletedUsersTable
  recently_deleted_users: RecentlyDeletedUsersTable
  file_sweeps: FileSweepsTable
  mails: MailsTable
  mail_counts: MailCountsTable
  invitations: InvitationsTable
  invitation_mails: InvitationMailsTable
  operators: OperatorsTable
  sign_in_links: SignInLinksTable
  sessions: SessionsTable
  signing_keys: { key: Buffer }
  workers: WorkersTable
}

interface AppsTable {
  app_id: Generated<number>
  name: string
  created_at: Timestamp
  /** Of the hashes in `recently_deleted_users`. */
  user_hash_salt: Generated<Buffer>
}

interface ApiTokensTable {
  app_id: number
  /** SHA-256 of the token; the token itself is random, so no slow hash is needed. */
  token_hash: Buffer
  last_four: string
  created_at: Timestamp
}

/** What clients of the S3 gateway sign with. */
interface AccessKeysTable {
  app_id: number
  access_key_id: string
  /** Signatures need the secret itself, so no hash would do. */
  encrypted_secret: Buffer
  created_at: Timestamp
  last_used_at: NullableTimestamp
}

interface MembersTable {
  app_id: number
  email: string
  /** Whether the app's mails go there. Members may sign in either way. */
  gets_mails: Generated<boolean>
  created_at: Timestamp
}

interface UsersTable {
  app_id: number
  user_id: string
  registered_at: Timestamp
}

/** A user without any value yet has no row; nobody who is not a user has one. */
interface ProfilesTable {
  app_id: number
  user_id: string
  /** Profile values by key: a JSON string, number, or UTC time string, typed by `profile_keys`. */
  attributes: JSONColumnType<Record<string, string | number>, string | undefined, string>
  updated_at: Timestamp
  /**
   * Hash of an imported row whose values `attributes` hold, the last one that was merged; null where there is none. Whoever
   * else changes `attributes` sets it to null in the same statement.
   */
  row_hash: string | null
}

interface ProfileKeysTable {
  app_id: number
  key: string
  type: ValueType
  registered_at: Timestamp
}

export type ImportSource = 'v3' | 'v2' | 'dashboard' | 'bucket'
export type ImportContentType = 'text/csv' | 'application/gzip'

interface ImportsTable {
  app_id: number
  import_id: Generated<string>
  /** Request order: imports of one app apply in the order of their line numbers. */
  sequence_number: Generated<number>
  source: ImportSource
  state: ImportState
  /** The file is only checked: nothing is applied, no key registered. Dry runs have a line of their own. */
  dry_run: Generated<boolean>
  object_key: string
  /** What its owner calls the file, where that is known. */
  file_name: string | null
  content_type: ImportContentType
  byte_size: number | null
  /** MD5 of the file, base64: the client declared it, or it was computed while the file came in. Null if neither. */
  checksum: string | null
  upload_expires_at: NullableTimestamp
  /** When maintenance next asks storage for the upload; null once that is settled. */
  upload_check_at: NullableTimestamp
  /** ETag of the object when its upload was noticed. If the object has another one, the checksum decides. */
  etag: string | null
  /** Bytes of the object then; null where this service stored it itself. */
  stored_size: number | null
  /** Of what brought the file to the bucket, and of the file: a repetition makes no second import. */
  upload_hash: Buffer | null
  /** Of the signature that the file was put into the bucket with. */
  signature_hash: Buffer | null

  attempt: Generated<number>
  /** Claims since the last committed batch: above the limit the import fails (design.md §4). */
  tries: Generated<number>
  lease_until: NullableTimestamp
  retry_at: NullableTimestamp
  dispatched_at: NullableTimestamp
  /** It was released after it committed a batch: no other import of its app runs before it ends. */
  holds_order: Generated<boolean>

  columns: JSONColumnType<string[]> | null
  types: JSONColumnType<Record<string, ValueType>, string | undefined, string>
  /** Keys that committed batches of a dry run would have registered, with their types in `types`. */
  previewed_keys: ColumnType<string[], undefined, string[]>
  position: Generated<number>
  rows_total: Generated<number>
  rows_applied: Generated<number>
  rows_failed: Generated<number>
  /** Rows of the error file by message; at most so many messages as `error-counts.ts` of packages/imports says. */
  error_counts: ColumnType<Record<string, number>, string | undefined, string>
  /** Bytes that the invalid rows so far would take in the error file, its header not included; 0 once the import has ended. */
  error_bytes: Generated<number>
  /** Bytes that these rows may take: `ERROR_FILE_LIMIT` when the first batch was committed, without the header; null before. */
  error_room: number | null
  /** The first data row (1 follows the header) that the error file leaves out, whether it is invalid or not; null if it is whole. */
  error_file_ends_before_row: number | null

  error: string | null
  /** It was cancelled, and its error file and mails are still to be made. */
  report_due: Generated<boolean>
  error_file_key: string | null
  error_file_secret: string | null
  error_file_expires_at: NullableTimestamp
  files_removed_at: NullableTimestamp
  /** Set by the preceding release, as `deletedSince` of packages/profiles now tells: its files go when it ends. */
  remove_files_at_end: Generated<boolean>
  /** When a deletion last dropped the rows that were kept for the error file; null if none did. */
  error_rows_since: NullableTimestamp

  /** The first request, or when the upload of the file began: the import's data is not younger. */
  requested_at: Timestamp
  queued_at: NullableTimestamp
  started_at: NullableTimestamp
  finished_at: NullableTimestamp
}

/** Rows of an error file that is still growing; they commit with their batch, and are removed when the file is in storage. */
interface ImportErrorChunksTable {
  app_id: number
  import_id: string
  /** Position after the batch whose invalid rows the chunk holds: file order. */
  position: number
  /** Earlier releases wrote several chunks for one batch. */
  part: number
  /** The rows in the short form of `kept-rows.ts` of packages/imports. */
  content: Buffer
  /** Where their lines begin among those of all invalid rows, and how many bytes they have. Both are null if `content` holds the finished lines, as earlier releases wrote them. */
  starts_at: number | null
  bytes: number | null
}

/** How long an app's imports have held slots of workers. Earlier time counts less and less (`fair-order.ts` of packages/imports). */
interface ImportSlotTimeTable {
  app_id: number
  seconds: number
  noted_at: Timestamp
}

/** Places in storage, the prefixes of imports, that are cleared once more at `due_at`: until then somebody may write there. */
interface FileSweepsTable {
  app_id: number
  import_id: string
  due_at: Timestamp
}

/** People who see every app and the queues. */
interface OperatorsTable {
  /** In its normal form (packages/accounts, `normalEmail`). */
  email: string
  created_at: Timestamp
}

/** Links that sign somebody in once. Of their secret, and of a session's, the SHA-256 is kept. */
interface SignInLinksTable {
  secret_hash: Buffer
  /** In its normal form (packages/accounts, `normalEmail`). */
  email: string
  expires_at: Timestamp
  used_at: NullableTimestamp
}

interface SessionsTable {
  secret_hash: Buffer
  /** In its normal form (packages/accounts, `normalEmail`). */
  email: string
  created_at: Timestamp
  expires_at: Timestamp
}

/** Signs of life of worker processes, for people to look at. */
interface WorkersTable {
  worker_id: string
  host: string
  pid: number
  queues: string[]
  /** What it is importing. */
  import_ids: string[]
  started_at: Timestamp
  seen_at: Timestamp
}
