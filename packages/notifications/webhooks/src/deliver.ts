import type { Settings } from '@sluice/config'
import { webhookTest } from '@sluice/contract'
import { type Database, retryPause, sql } from '@sluice/database'
import { decrypt } from '@sluice/encryption'
import { disabledWebhookNotification, enqueueMails, failingWebhookNotification, type MailId } from '@sluice/mail'
import { openAddressRule } from './addresses.ts'
import { type ClaimedDelivery, claimDelivery } from './claim.ts'
import { type DeliveryId, longestRetrySeconds } from './outbox.ts'
import { type PostAnswer, post } from './post.ts'
import { type LookUp, openLookUp, resolveHost } from './resolve.ts'
import { signedHeaders } from './signature.ts'
import { hostOf } from './url.ts'

/** The settings that {@link openDeliverer} needs. */
export const delivererSettings = ['ENCRYPTION_KEYS', 'WEBHOOK_ALLOW_HTTP', 'WEBHOOK_ALLOW_NETWORKS'] as const

/** Sends the deliveries of the outbox. */
export interface Deliverer {
  /**
   * Sends one delivery, if it is due and neither its app nor its endpoint has the maximum number of attempts in flight.
   * Every attempt has the same `webhook-id`. 2xx ends the delivery. After anything else it is tried again, for three
   * days. An abort of `shutdown` ends the attempt, which then does not count. Throws if the database does not record
   * the result: the delivery is then tried again when its lease ends.
   */
  deliver(delivery: DeliveryId, shutdown?: AbortSignal): Promise<DeliveryOutcome>
}

/** How an attempt ended. `endpoint` is its ID and host, for the log. `mails` tell the members that it is failing. */
export type DeliveryOutcome =
  | { outcome: 'delivered' | 'not due' | 'released' }
  | { outcome: 'postponed' | 'failed'; error: string; attempt: number; endpoint: string; mails: MailId[] }

/** How long one attempt may take, from the lookup of its host to the status of the answer, ms. */
const attemptTimeoutMs = 15_000

/** The error of a delivery whose process died in the last attempt. */
const interrupted = 'the process that sent the last attempt ended'

/** The status by which a receiver says that it wants nothing more (Standard Webhooks). */
const gone = 410

/** A failed attempt. `status` is null if there was no answer. */
interface Failure {
  status: number | null
  error: string
  retryAfterSeconds?: number | undefined
}

/** Longest stored text of an error, in UTF-16 units. */
const longestError = 300

/**
 * Opens the sending side of the outbox (second-day.md §5, Tries). Tests replace the lookup of names, the certificate
 * authorities and the time limit.
 */
export function openDeliverer(
  db: Database,
  settings: Settings<(typeof delivererSettings)[number]>,
  options: { lookUp?: LookUp; ca?: string; attemptTimeoutMs?: number } = {},
): Deliverer {
  const limitMs = options.attemptTimeoutMs ?? attemptTimeoutMs
  const isAllowed = openAddressRule(settings.WEBHOOK_ALLOW_NETWORKS)
  const lookUp = options.lookUp ?? openLookUp()

  async function send(delivery: ClaimedDelivery, signal: AbortSignal): Promise<PostAnswer> {
    signal.throwIfAborted()
    const url = new URL(delivery.url)
    if (url.protocol !== 'https:' && !settings.WEBHOOK_ALLOW_HTTP)
      throw new Error('the URL is not https, and WEBHOOK_ALLOW_HTTP is not true')
    const addresses = await resolveHost(hostOf(url), isAllowed, lookUp, signal)
    const { deliveryId, endpointId, body } = delivery
    const secrets = delivery.encryptedSecrets.map((each) => decrypt(settings.ENCRYPTION_KEYS, endpointId, each))
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'Sluice-Webhooks',
      ...signedHeaders(secrets, deliveryId, delivery.beganAtSeconds, body),
    }
    return await post({ url, addresses, headers, body, ca: options.ca, signal })
  }

  return {
    async deliver(id, shutdown = new AbortController().signal) {
      // The time counts from before the claim, so that the attempt ends before its lease. Postgres begins the lease
      // before its answer arrives here, which may be late.
      const deadline = AbortSignal.timeout(limitMs)
      const delivery = shutdown.aborted ? undefined : await claimDelivery(db, id)
      if (delivery === undefined) return { outcome: 'not due' }
      if (delivery.isOver) return await recordFailure(db, delivery, { status: null, error: interrupted })
      const tooLong = `the attempt took longer than ${limitMs / 1000} s`
      let answer: PostAnswer
      try {
        answer = await send(delivery, AbortSignal.any([deadline, shutdown]))
      } catch (error) {
        if (shutdown.aborted) return await release(db, delivery)
        return await recordFailure(db, delivery, { status: null, error: deadline.aborted ? tooLong : describe(error) })
      }
      const { status } = answer
      if (status >= 200 && status < 300) return await recordSuccess(db, delivery, status)
      return await recordFailure(db, delivery, { ...answer, error: describeStatus(status) })
    },
  }
}

function describeStatus(status: number): string {
  return status >= 300 && status < 400
    ? `the receiver answered ${status}, and redirects are not followed`
    : `the receiver answered ${status}`
}

/** Returns an error in one line. Parts of it may come from strangers, such as the names in a certificate. */
function describe(error: unknown): string {
  const { message, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error) }
  const text = message === '' ? (code ?? 'unknown error') : message
  return text
    .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
    .slice(0, longestError)
    .toWellFormed()
}

async function recordSuccess(db: Database, delivery: ClaimedDelivery, status: number): Promise<DeliveryOutcome> {
  // First, because the delivery is sent again if only this was recorded.
  await db
    .updateTable('webhook_endpoints')
    .set({ erring_since: null, failing_since: null })
    .where('app_id', '=', delivery.appId)
    .where('endpoint_id', '=', delivery.endpointId)
    .where((where) => where.or([where('erring_since', 'is not', null), where('failing_since', 'is not', null)]))
    .execute()
  const recorded = await claimed(db, delivery)
    .set({ state: 'delivered', ended_at: sql<Date>`now()`, lease_until: null, last_status: status, last_error: null })
    .executeTakeFirst()
  return { outcome: recorded.numUpdatedRows > 0n ? 'delivered' : 'not due' }
}

/**
 * Postpones a delivery after a failed attempt. If three days of retries are over, marks the delivery as failed and its
 * endpoint as failing.
 */
async function recordFailure(
  db: Database,
  delivery: ClaimedDelivery,
  { status, error, retryAfterSeconds = 0 }: Failure,
): Promise<DeliveryOutcome> {
  const isGone = status === gone
  const isFinal = sql`(retry_until <= now() or ${isGone}::boolean)`
  const pause = Math.min(
    Math.max(retryPause(delivery.tries, longestRetrySeconds), retryAfterSeconds),
    longestRetrySeconds,
  )
  return await db.transaction().execute(async (tx): Promise<DeliveryOutcome> => {
    // Before the delivery, as in a claim: a late result and the next claim must not wait for each other.
    await sql`
      select from webhook_endpoints
      where app_id = ${delivery.appId} and endpoint_id = ${delivery.endpointId} for no key update
    `.execute(tx)
    const recorded = await claimed(tx, delivery)
      .set({
        state: sql<'failed' | 'waiting'>`case when ${isFinal} then 'failed' else 'waiting' end`,
        ended_at: sql<Date | null>`case when ${isFinal} then now() end`,
        lease_until: null,
        // The last attempt comes when the three days end, not up to four hours before.
        next_attempt_at: sql<Date>`least(now() + make_interval(secs => ${pause}), retry_until)`,
        last_status: status,
        last_error: error,
      })
      .returning('state')
      .executeTakeFirst()
    if (recorded === undefined) return { outcome: 'not due' }
    if (delivery.type !== webhookTest) {
      await tx
        .updateTable('webhook_endpoints')
        .set({ erring_since: sql<Date>`now()` })
        .where('app_id', '=', delivery.appId)
        .where('endpoint_id', '=', delivery.endpointId)
        .where('erring_since', 'is', null)
        .execute()
    }
    // second-day.md §5, Failing endpoints.
    const isFailing = recorded.state === 'failed' && delivery.type !== webhookTest
    const column = isGone ? 'disabled_at' : isFailing ? 'failing_since' : undefined
    const mails = column === undefined ? [] : await mark(tx, delivery, error, column)
    const outcome = recorded.state === 'failed' ? 'failed' : 'postponed'
    const endpoint = `${delivery.endpointId} at ${new URL(delivery.url).host}`
    return { outcome, error, attempt: delivery.attempt, endpoint, mails }
  })
}

/** Marks an endpoint as disabled or failing, and returns the mails about it; none if it was marked before. */
async function mark(
  tx: Database,
  delivery: ClaimedDelivery,
  error: string,
  column: keyof typeof marks,
): Promise<MailId[]> {
  const { appId, endpointId } = delivery
  const marked = await tx
    .updateTable('webhook_endpoints')
    .set({ [column]: column === 'failing_since' ? sql<Date>`erring_since` : sql<Date>`now()` })
    .where('app_id', '=', appId)
    .where('endpoint_id', '=', endpointId)
    .where(column, 'is', null)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
  return marked.numUpdatedRows === 0n ? [] : await mailAbout(tx, delivery, error, marks[column])
}

/** The mails about the marks of an endpoint. `disabled_at` means that its receiver answered 410. */
const marks = { disabled_at: disabledWebhookNotification, failing_since: failingWebhookNotification }

async function mailAbout(
  tx: Database,
  delivery: ClaimedDelivery,
  error: string,
  contentOf: typeof failingWebhookNotification,
): Promise<MailId[]> {
  const { appId, endpointId, deliveryId } = delivery
  const app = await tx.selectFrom('apps').select('name').where('app_id', '=', appId).executeTakeFirstOrThrow()
  const content = contentOf({ appName: app.name, url: withoutQuery(delivery.url), error })
  return await enqueueMails(tx, appId, `webhook:${endpointId}:${deliveryId}:${delivery.attempt}`, content)
}

/** Returns a URL without its query, which may contain a secret of the receiver. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

/** Releases a claim because the process stops. The next attempt is due at once. */
async function release(db: Database, delivery: ClaimedDelivery): Promise<DeliveryOutcome> {
  await claimed(db, delivery)
    .set({ lease_until: null, next_attempt_at: sql<Date>`now()`, tries: sql<number>`greatest(tries - 1, 0)` })
    .execute()
  return { outcome: 'released' }
}

/** Updates a delivery only during its claim: a slow process must not overwrite the result of a later attempt. */
function claimed(db: Database, { appId, deliveryId, attempt }: ClaimedDelivery) {
  return db
    .updateTable('webhook_deliveries')
    .where('app_id', '=', appId)
    .where('delivery_id', '=', deliveryId)
    .where('state', '=', 'waiting')
    .where('attempt', '=', attempt)
}
