import type { Generated } from 'kysely'
import type { NullableTimestamp, Timestamp } from './timestamps.ts'

export interface MailsTable {
  app_id: number
  mail_id: Generated<string>
  /** The event that the mail reports, such as `import:<id>`. There is one mail per event and recipient. */
  event: string
  recipient: string
  subject: string
  text: string
  html: string
  state: Generated<'waiting' | 'sent' | 'failed'>
  attempt: Generated<number>
  next_attempt_at: Timestamp
  last_error: string | null
  created_at: Timestamp
  sent_at: NullableTimestamp
  failed_at: NullableTimestamp
}

/** Number of mails of an app in the current hour. The hour began with the first of these mails. */
export interface MailCountsTable {
  app_id: number
  began_at: Timestamp
  mails: number
  /** The limit at the last count. When `mails` reaches it, the app's further mails wait for the end of the hour. */
  most: number
}

/** Addresses that a member added and that are not confirmed yet. They receive no other mail. */
export interface InvitationsTable {
  app_id: number
  /** Address in its normal form (packages/accounts, `normalEmail`). */
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
