import type { Generated } from 'kysely'
import type { NullableTimestamp, Timestamp } from './timestamps.ts'

export interface MailsTable {
  app_id: number
  mail_id: Generated<string>
  /** What the mail is about, such as `import:<id>`: one mail per event and recipient. */
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
}

/** The mails of an app in the hour that began with the first of them. */
export interface MailCountsTable {
  app_id: number
  began_at: Timestamp
  mails: number
  /** The limit when they were counted last: at this number the app's mails wait for the end of the hour. */
  most: number
}

/** Addresses that a member added and that nobody has confirmed yet: no other mail goes there. */
export interface InvitationsTable {
  app_id: number
  /** In its normal form (packages/accounts, `normalEmail`). */
  email: string
  /** SHA-256 of the secret in the link that was mailed last. */
  secret_hash: Buffer
  /** The address of the member or operator who added it. */
  invited_by: string
  created_at: Timestamp
  expires_at: Timestamp
}

/** The mails that asked to confirm an address, for a day: so many and no more are sent. */
export interface InvitationMailsTable {
  app_id: number
  mail_id: Generated<string>
  email: string
  sent_at: Timestamp
}
