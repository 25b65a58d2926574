import type { NewKeys } from '@sluice/contract'
import type { Generated } from 'kysely'
import type { NullableTimestamp, Timestamp } from './timestamps.ts'

export interface AppsTable {
  app_id: Generated<number>
  name: string
  created_at: Timestamp
  /** Salt of the hashes in `recently_deleted_users`. */
  user_hash_salt: Generated<Buffer>
  /** Secret that the keys of row hashes are made from. */
  row_hash_secret: Generated<Buffer>
  /** What imports do with columns that are neither registered nor declared, unless their request says otherwise. */
  new_keys: Generated<NewKeys>
  /** Since when no import of the app is claimed; null if the app is not paused. */
  paused_at: NullableTimestamp
  /** When the deletion of the app began; null if nobody deletes it. */
  deleting_at: NullableTimestamp
  /** Limit of first requests of v3, such as `100/10m`; null if the setting applies. */
  bulk_import_limit: string | null
  /** Maximum number of profile keys; null if the setting applies. */
  profile_key_limit: number | null
}

/**
 * Deleted apps whose files and rows are removed once more at `sweep_at`, because a late request may write some until
 * then.
 */
export interface DeletedAppsTable {
  former_app_id: number
  sweep_at: Timestamp
}

export interface ApiTokensTable {
  app_id: number
  /** SHA-256 of the token. The token is random, so no slow hash is needed. */
  token_hash: Buffer
  last_four: string
  created_at: Timestamp
}

/** The keys that clients of the S3 gateway sign with. */
export interface AccessKeysTable {
  app_id: number
  access_key_id: string
  /** Encrypted, not hashed: checking a signature requires the secret itself. */
  encrypted_secret: Buffer
  created_at: Timestamp
  last_used_at: NullableTimestamp
}

export interface MembersTable {
  app_id: number
  email: string
  /** Whether the member receives the app's mails. Every member may sign in. */
  gets_mails: Generated<boolean>
  /** Part of the link by which a mail program ends the app's mails to the member. */
  unsubscribe_key: Generated<string>
  created_at: Timestamp
}

/** Has one row while all apps are paused. */
export interface ServicePauseTable {
  only_row: Generated<boolean>
  paused_at: Timestamp
}

/** Entries of the audit log. They outlive their app. */
export interface AuditLogTable {
  /** 0 if the entry concerns the whole service. */
  app_id: number
  at: Timestamp
  entry_id: Generated<number>
  who_type: 'member' | 'operator' | 'cli' | 'token' | 'guest'
  /** An e-mail address, a system user, or the last characters of an API token. */
  who: string
  /** An action of packages/audit-log. */
  what: string
  target: string | null
  outcome: Generated<'started' | 'done' | 'unchanged' | 'refused' | 'failed'>
  address: string | null
  request_id: string | null
}
