import type { WebhookBody } from '@sluice/contract'
import { type Database, retryPauseAfterDeath, sql } from '@sluice/database'
import {
  attemptsOfApp,
  attemptsOfEndpoint,
  type DeliveryId,
  isAttemptDue,
  isInFlight,
  leaseMs,
  longestRetrySeconds,
} from './outbox.ts'

/** A delivery that this process may send once. */
export interface ClaimedDelivery extends DeliveryId {
  endpointId: string
  url: string
  /** The secret, and for a day after its rotation the previous one (second-day.md §5, Endpoints). */
  encryptedSecrets: Buffer[]
  type: WebhookBody['type']
  body: string
  attempt: number
  tries: number
  /** The last attempt began when the time for retries was over, and its process died: no further attempt is made. */
  isOver: boolean
  /** When the attempt began, by the clock of Postgres: Unix time, s. */
  beganAtSeconds: number
}

interface ClaimedRow {
  is_over: boolean
  endpoint_id: string
  url: string
  encrypted_secret: Buffer
  previous_secret: Buffer | null
  type: WebhookBody['type']
  body: string
  attempt: number
  tries: number
  began_at: number
}

/** Seconds until the next attempt if this one ends with its process: the lease, or longer after further tries. */
const afterDeathSeconds = retryPauseAfterDeath(sql`d.tries`, { leaseMs, longest: longestRetrySeconds })

/**
 * Claims a delivery for one attempt. Returns undefined if the delivery is not due, or if its endpoint was removed. Also
 * returns undefined if the app or the endpoint already has the maximum number of attempts in flight. If the process
 * dies during the attempt, the delivery is due again when the lease ends.
 */
export async function claimDelivery(
  db: Database,
  { appId, deliveryId }: DeliveryId,
): Promise<ClaimedDelivery | undefined> {
  return await db.transaction().execute(async (tx) => {
    // The lock makes concurrent claims of the app wait, so that together they cannot exceed the limits.
    await sql`
      select from webhook_endpoints where app_id = ${appId} order by endpoint_id for no key update
    `.execute(tx)
    const { rows } = await sql<ClaimedRow>`
      with in_flight as (
        select endpoint_id from webhook_deliveries where app_id = ${appId} and ${isInFlight}
      )
      update webhook_deliveries d
      set attempt = attempt + 1, tries = tries + 1, last_attempt_at = now(),
        lease_until = now() + make_interval(secs => ${leaseMs / 1000}),
        next_attempt_at = now() + make_interval(secs => ${afterDeathSeconds})
      from webhook_endpoints e, (
        select lease_until is not null and last_attempt_at >= retry_until as is_over
        from webhook_deliveries where app_id = ${appId} and delivery_id = ${deliveryId}
      ) before
      where d.app_id = ${appId} and d.delivery_id = ${deliveryId} and d.state = 'waiting' and ${isAttemptDue}
        and e.app_id = ${appId} and e.endpoint_id = d.endpoint_id and e.removed_at is null and e.disabled_at is null
        and (select count(*) from in_flight) < ${attemptsOfApp}
        and (select count(*) from in_flight f where f.endpoint_id = d.endpoint_id) < ${attemptsOfEndpoint}
      returning before.is_over, d.endpoint_id, e.url, e.encrypted_secret,
        case when e.rotated_at > now() - interval '24 hours' then e.previous_secret end as previous_secret, d.type, d.body, d.attempt, d.tries,
        extract(epoch from now())::bigint as began_at
    `.execute(tx)
    const [row] = rows
    return (
      row && {
        appId,
        deliveryId,
        endpointId: row.endpoint_id,
        url: row.url,
        encryptedSecrets: [row.encrypted_secret, ...(row.previous_secret === null ? [] : [row.previous_secret])],
        type: row.type,
        body: row.body,
        attempt: row.attempt,
        tries: row.tries,
        isOver: row.is_over,
        beganAtSeconds: row.began_at,
      }
    )
  })
}
