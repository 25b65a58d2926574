import type { HoldIf, NewKeys } from '@sluice/contract'
import type { ColumnType, Generated } from 'kysely'
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
  /** Imports keep what they change, unless their requests say otherwise. */
  keep_changes: Generated<boolean>
  /** When an import is held for approval, unless its request says otherwise. */
  hold_if: ColumnType<HoldIf, string | undefined, string>
  /** Since when no import of the app is claimed; null if the app is not paused. */
  paused_at: NullableTimestamp
  /** When imports last resumed: nobody counts the time before as a wait. */
  resumed_at: NullableTimestamp
  /** When the deletion of the app began; null if nobody deletes it. */
  deleting_at: NullableTimestamp
  /** Limit of first requests of v3, such as `100/10m`; null if the setting applies. */
  bulk_import_limit: string | null
  /** Maximum number of enabled profile keys; null if the setting applies. */
  profile_key_limit: number | null
  /** Number of times that keys were enabled or disabled. */
  keys_version: Generated<number>
}

/**
 * Deleted apps whose files and rows are removed once more at `sweep_at`, because a late request may write some until
 * then.
 */
export interface DeletedAppsTable {
  former_app_id: number
  sweep_at: Timestamp
}

/** Apps that move between cells, or have moved. */
export interface AppMovesTable {
  app_id: number
  /** The other cell: where the app goes, comes from, or went. */
  cell: number
  /** This cell serves an app in the states `copying`, `suspended` (after a pause) and `here`. */
  state: 'copying' | 'suspended' | 'left' | 'arriving' | 'here'
  /** Whether the app's imports were paused before the move. */
  was_paused: Generated<boolean>
  suspended_until: NullableTimestamp
  /** When the rows were removed here, after the app left. */
  confirmed_at: NullableTimestamp
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

/** Addresses that a member added and that are not confirmed yet. They receive no other mail. */
export interface InvitationsTable {
  app_id: number
  /** Address in its normal form (packages/access/accounts, `normalEmail`). */
  email: string
  /** SHA-256 of the secret in the latest mailed link. */
  secret_hash: Buffer
  /** The address of the member or operator who added this address. */
  invited_by: string
  created_at: Timestamp
  expires_at: Timestamp
}

/** Mails of the last day that asked to confirm an address. Their number is limited. */
export interface InvitationMailsTable {
  app_id: number
  mail_id: Generated<string>
  email: string
  sent_at: Timestamp
}

/** People who see every app and the queues. */
export interface OperatorsTable {
  /** Address in its normal form (packages/access/accounts, `normalEmail`). */
  email: string
  created_at: Timestamp
}

/** Links that sign a person in once. For links and sessions, only the SHA-256 of the secret is stored. */
export interface SignInLinksTable {
  secret_hash: Buffer
  /** Address in its normal form (packages/access/accounts, `normalEmail`). */
  email: string
  /** The page that the person asked for, as a path of the dashboard. */
  return_path: Generated<string>
  expires_at: Timestamp
  used_at: NullableTimestamp
}

export interface SessionsTable {
  secret_hash: Buffer
  /** Address in its normal form (packages/access/accounts, `normalEmail`). */
  email: string
  created_at: Timestamp
  expires_at: Timestamp
  /** Whether the session began with the link of an invitation. */
  by_invitation: Generated<boolean>
  /** The account at an OpenID Connect provider; null if the session began with a mailed link. */
  issuer: string | null
  subject: string | null
  /** Until when the session is valid unless the provider confirms it again; null if it began with a mailed link. */
  confirmed_until: NullableTimestamp
  /** Whether the provider named the person as an operator. */
  operator_by_group: Generated<boolean>
}

/** Which account at an OpenID Connect provider an address belongs to. */
export interface ProviderAccountsTable {
  issuer: string
  /** Address in its normal form. */
  email: string
  subject: string
  created_at: Timestamp
}
