import type { WebhookBody } from '@sluice/contract'
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

/** Addresses that an app's events are sent to. */
export interface WebhookEndpointsTable {
  app_id: number
  endpoint_id: Generated<string>
  url: string
  /** The events that the endpoint has chosen. */
  events: string[]
  /** Encrypted, not hashed: each delivery is signed with the secret. Empty after the removal. */
  encrypted_secret: Buffer
  /** The secret before the last rotation, encrypted. Attempts are signed with both for a day after `rotated_at`. */
  previous_secret: Buffer | null
  rotated_at: NullableTimestamp
  created_at: Timestamp
  /** When the first try failed; null after a success. */
  erring_since: NullableTimestamp
  /** The same once a delivery has failed for good. */
  failing_since: NullableTimestamp
  /** When the receiver answered 410. Nothing is sent to the endpoint until somebody enables it again. */
  disabled_at: NullableTimestamp
  /** When the endpoint was removed. Its row stays until maintenance has removed its deliveries. */
  removed_at: NullableTimestamp
}

/** One event for one endpoint. */
export interface WebhookDeliveriesTable {
  app_id: number
  /** Sent as `webhook-id`, in every attempt. */
  delivery_id: Generated<string>
  endpoint_id: string
  type: WebhookBody['type']
  /** Names the event, such as `import.completed:<id>`. There is one delivery per event and endpoint. */
  event: string
  /** The JSON that is sent. */
  body: string
  /** The body contains the name of an import's file, which may contain a user's ID. */
  has_file_name: Generated<boolean>
  state: Generated<'waiting' | 'delivered' | 'failed'>
  /** How often the delivery was claimed. A result is recorded only under the current attempt. */
  attempt: Generated<number>
  /** Attempts since the event, or since somebody sent the delivery again. */
  tries: Generated<number>
  next_attempt_at: Timestamp
  /** Until when the present attempt is expected to end; null between attempts. */
  lease_until: NullableTimestamp
  /** After this time, the next attempt is the last. */
  retry_until: Timestamp
  last_attempt_at: NullableTimestamp
  /** HTTP status of the last answer; null if the last attempt got none. */
  last_status: number | null
  last_error: string | null
  created_at: Timestamp
  ended_at: NullableTimestamp
}
