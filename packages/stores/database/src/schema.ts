import type {
  AccessKeysTable,
  ApiTokensTable,
  AppMovesTable,
  AppsTable,
  DeletedAppsTable,
  InvitationMailsTable,
  InvitationsTable,
  MembersTable,
  OperatorsTable,
  ProviderAccountsTable,
  SessionsTable,
  SignInLinksTable,
} from './schema-accounts.ts'
import type {
  BucketUploadPartsTable,
  BucketUploadsTable,
  ColumnMappingsTable,
  FileSweepsTable,
  ImportChunksTable,
  ImportSlotTimeTable,
  ImportsTable,
  UnannouncedFileFailuresTable,
  UndoLinesTable,
} from './schema-imports.ts'
import type { MailCountsTable, MailsTable, WebhookDeliveriesTable, WebhookEndpointsTable } from './schema-outboxes.ts'
import type {
  DeletedUsersTable,
  DeletionRequestsTable,
  DeletionRequestUsersTable,
  ExportsTable,
  ProfileKeysTable,
  ProfilesTable,
  RecentlyDeletedUsersTable,
  UsersTable,
} from './schema-profiles.ts'
import type {
  AuditLogTable,
  IdempotencyKeysTable,
  QueueHistoryTable,
  RateLimitsTable,
  ServicePauseTable,
  WorkersTable,
} from './schema-service.ts'

/**
 * The tables as Kysely sees them (design.md §5, Tables). `migrations/` holds the SQL that creates them. Every primary
 * key begins with `app_id` (design.md §5, Primary keys), so that the database can be sharded by app. The exceptions are
 * tables that belong to no app: tables of the whole service, and tables of people, who may be members of several apps.
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
  import_chunks: ImportChunksTable
  undo_lines: UndoLinesTable
  import_slot_time: ImportSlotTimeTable
  column_mappings: ColumnMappingsTable
  /** Occupies 1 MiB, which is freed when the disk is full (`disk-full.ts` of packages/engine/imports). */
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
  app_moves: AppMovesTable
  deleted_apps: DeletedAppsTable
  rate_limits: RateLimitsTable
}
