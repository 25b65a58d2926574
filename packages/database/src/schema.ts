import type { ImportSource, ImportState, ImportWarning, NewKeys, ValueType } from '@sluice/contract'
import type { ColumnType, Generated, JSONColumnType } from 'kysely'
import type {
  AccessKeysTable,
  ApiTokensTable,
  AppsTable,
  AuditLogTable,
  DeletedAppsTable,
  MembersTable,
  ServicePauseTable,
} from './schema-accounts.ts'
import type {
  BucketUploadPartsTable,
  BucketUploadsTable,
  UnannouncedFileFailuresTable,
} from './schema-bucket-uploads.ts'
import type { ColumnMappingsTable } from './schema-column-mappings.ts'
import type {
  DeletedUsersTable,
  DeletionRequestsTable,
  DeletionRequestUsersTable,
  RecentlyDeletedUsersTable,
} from './schema-deletions.ts'
import type { ExportsTable } from './schema-exports.ts'
import type { IdempotencyKeysTable } from './schema-idempotency.ts'
import type { InvitationMailsTable, InvitationsTable, MailCountsTable, MailsTable } from './schema-mails.ts'
import type { QueueHistoryTable, WorkersTable } from './schema-operations.ts'
import type { OperatorsTable, ProviderAccountsTable, SessionsTable, SignInLinksTable } from './schema-sign-in.ts'
import type { WebhookDeliveriesTable, WebhookEndpointsTable } from './schema-webhooks.ts'
import type { NullableTimestamp, Timestamp } from './timestamps.ts'

/**
 * The tables as Kysely sees them. `migrations/` holds the SQL that creates them. Every primary key begins with `app_id`
 * (design.md §5), so that the database can be sharded by app. The exceptions are tables that belong to no app: tables
 * of the whole service, and tables of people, who may be members of several apps.
 *
 * Terms, the same in code, SQL, API and documents:
 * - app: a customer of the service, with one API token, its users and its profile keys
 * - import: one uploaded file whose rows are merged into profiles; its position in the app's import order is
 *   `sequence_number`
 * - attempt: how often an import was claimed; a batch commits only under the current attempt
 * - lease: how long a claim stays valid unless its worker renews it
 * - position: byte offset in the uncompressed file up to which rows are committed
 * - deletion: the removal of one user; if several deletion requests name the user, the earliest dates apply
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
  column_mappings: ColumnMappingsTable
  /** Occupies 1 MiB, which is freed when the disk is full (`disk-full.ts` of packages/imports). */
  disk_reserve: { filler: string }
  bucket_uploads: BucketUploadsTable
  bucket_upload_parts: BucketUploadPartsTable
  unannounced_file_failures: UnannouncedFileFailuresTable
  deletion_requests: DeletionRequestsTable
  deletion_request_users: DeletionRequestUsersTable
  deleted_users: DeletedUsersTable
  recently_deleted_users: RecentlyDeletedUsersTable
  exports: ExportsTable
  file_sweeps: FileSweepsTable
  idempotency_keys: IdempotencyKeysTable
  mails: MailsTable
  mail_counts: MailCountsTable
  webhook_endpoints: WebhookEndpointsTable
  webhook_deliveries: WebhookDeliveriesTable
  invitations: InvitationsTable
  invitation_mails: InvitationMailsTable
  operators: OperatorsTable
  sign_in_links: SignInLinksTable
  sessions: SessionsTable
  provider_accounts: ProviderAccountsTable
  signing_keys: { key: Buffer }
  service_pause: ServicePauseTable
  workers: WorkersTable
  queue_history: QueueHistoryTable
  audit_log: AuditLogTable
  deleted_apps: DeletedAppsTable
  rate_limits: RateLimitsTable
}

/**
 * Counts of requests, which packages/rate-limits writes. The key of an app's count begins with the app's ID and a
 * colon.
 */
interface RateLimitsTable {
  key: string
  points: number
  expire: number | null
}

interface UsersTable {
  app_id: number
  user_id: string
  registered_at: Timestamp
}

/** A user who never had a value has no row. Every row belongs to a registered user. */
interface ProfilesTable {
  app_id: number
  user_id: string
  /** Profile values by key: a JSON string, number, or UTC time string, typed by `profile_keys`. */
  attributes: JSONColumnType<Record<string, string | number>, string | undefined, string>
  updated_at: Timestamp
  /**
   * Hash of the last imported row that was merged, if `attributes` still hold its values; otherwise null. Any other
   * change of `attributes` sets it to null in the same statement.
   */
  row_hash: string | null
}

interface ProfileKeysTable {
  app_id: number
  key: string
  type: ValueType
  registered_at: Timestamp
}

export type ImportContentType = 'text/csv' | 'application/gzip'

interface ImportsTable {
  app_id: number
  import_id: Generated<string>
  /** Request order: imports of one app are applied in the order of their sequence numbers. */
  sequence_number: Generated<number>
  source: ImportSource
  state: ImportState
  /** A dry run only checks the file: it applies nothing and registers no key. Dry runs have an order of their own. */
  dry_run: Generated<boolean>
  /** The import that this import retries, with the same file and options. The retried import may be removed by now. */
  retry_of: string | null
  /** Deletions with a higher number completed after the data was sent. A retry has the number of the first import. */
  data_order: Generated<number>
  object_key: string
  /** The name that the file has for its owner; null if it is not known. */
  file_name: string | null
  content_type: ImportContentType
  byte_size: number | null
  /** MD5 of the file, base64. The client declared it, or it was computed during the upload; null if neither. */
  checksum: string | null
  upload_expires_at: NullableTimestamp
  /**
   * When maintenance next asks storage whether the file is there; null if it need not. If the file comes in a request
   * body: when the import expires unless it is queued by then.
   */
  upload_check_at: NullableTimestamp
  /**
   * ETag of the object when its upload was noticed. If the ETag changes later, the checksum decides whether the file is
   * the same.
   */
  etag: string | null
  /** Bytes of the object when its upload was noticed; null if this service stored the object itself. */
  stored_size: number | null
  /** Hash of the bucket upload's request and of the file, so that a repeated request creates no second import. */
  upload_hash: Buffer | null
  /** Hash of the signature of the bucket upload's request. */
  signature_hash: Buffer | null

  /** Types that the sender declared, by key. */
  profile_types: ColumnType<Record<string, ValueType>, string | undefined, string>
  /** What happens to columns that are neither registered nor declared. */
  new_keys: Generated<NewKeys>
  /** A cell with this text removes its key from the user's profile. */
  clear_marker: string | null

  attempt: Generated<number>
  /** Claims since the last committed batch. Above the limit, the import fails (design.md §4). */
  tries: Generated<number>
  lease_until: NullableTimestamp
  retry_at: NullableTimestamp
  dispatched_at: NullableTimestamp
  /** The import was released after it committed a batch: no other import of its app runs before this one ends. */
  holds_order: Generated<boolean>

  columns: JSONColumnType<string[]> | null
  types: JSONColumnType<Record<string, ValueType>, string | undefined, string>
  /** Warnings about inferred types that may be wrong. The examples in a warning are values of the file. */
  warnings: ColumnType<ImportWarning[], string | undefined, string>
  /** For columns of inferred types: the index, the values so far, and how many of them lose their spelling in a way. */
  spelling_counts: ColumnType<number[][], string | undefined, string>
  /** Keys that the committed batches of a dry run would have registered. `types` holds their types. */
  previewed_keys: ColumnType<string[], undefined, string[]>
  position: Generated<number>
  /** Beyond `position` if only a part of a batch is committed: the end of the batch. */
  batch_end: number | null
  /** Maximum number of rows of a transaction, because a larger one failed; null if none did. */
  batch_rows: number | null
  rows_total: Generated<number>
  rows_applied: Generated<number>
  rows_failed: Generated<number>
  /** Rows that changed a profile as the preceding rows had left it. */
  rows_changed: Generated<number>
  /** Rows of the error file by message. `error-counts.ts` of packages/imports limits the number of messages. */
  error_counts: ColumnType<Record<string, number>, string | undefined, string>
  /** Bytes of the invalid rows so far in the error file, without its header; 0 after the import has ended. */
  error_bytes: Generated<number>
  /**
   * Maximum of `error_bytes`, computed from `ERROR_FILE_LIMIT` when the first batch commits (`errorRoomBytes` of
   * packages/imports); null before that commit.
   */
  error_room: number | null
  /** The first data row, valid or not, that the error file does not cover; row 1 follows the header. */
  error_file_ends_before_row: number | null

  error: string | null
  /** The import was cancelled, and its error file and mails do not exist yet. */
  report_due: Generated<boolean>
  error_file_key: string | null
  error_file_secret: string | null
  error_file_expires_at: NullableTimestamp
  files_removed_at: NullableTimestamp
  /** Number of `data_order` when rows that were kept for the error file were last dropped; null if they never were. */
  error_rows_since: number | null

  /** Time of the first request, or of the start of the upload. */
  requested_at: Timestamp
  queued_at: NullableTimestamp
  started_at: NullableTimestamp
  finished_at: NullableTimestamp
}

/** Rows of a growing error file. They commit with their batch, and are removed when the file is in storage. */
interface ImportErrorChunksTable {
  app_id: number
  import_id: string
  /**
   * The import's position after the batch whose invalid rows the chunk holds. The chunks form the file in this order.
   */
  position: number
  /** The rows, in the compact form of `kept-rows.ts` of packages/imports. */
  content: Buffer
  /** Offset and length of the rows in the error file, bytes. */
  starts_at: number
  bytes: number
}

/**
 * How long an app's imports have held slots of workers. Recent slot time counts more than old slot time
 * (`fair-order.ts` of packages/imports).
 */
interface ImportSlotTimeTable {
  app_id: number
  seconds: number
  noted_at: Timestamp
}

/** Imports whose prefix in storage is cleared again at `due_at`, because a late write may arrive until then. */
interface FileSweepsTable {
  app_id: number
  import_id: string
  due_at: Timestamp
}
