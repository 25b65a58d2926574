import type { Generated } from 'kysely'
import type { NullableTimestamp, Timestamp } from './timestamps.ts'

/** People who see every app and the queues. */
export interface OperatorsTable {
  /** Address in its normal form (packages/accounts, `normalEmail`). */
  email: string
  created_at: Timestamp
}

/** Links that sign a person in once. For links and sessions, only the SHA-256 of the secret is stored. */
export interface SignInLinksTable {
  secret_hash: Buffer
  /** Address in its normal form (packages/accounts, `normalEmail`). */
  email: string
  expires_at: Timestamp
  used_at: NullableTimestamp
}

export interface SessionsTable {
  secret_hash: Buffer
  /** Address in its normal form (packages/accounts, `normalEmail`). */
  email: string
  created_at: Timestamp
  expires_at: Timestamp
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
