import { isUuid, type WebhookBody, webhookTest } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { isInFlight, retryDays } from './outbox.ts'

/** A delivery as pages and the command line show it. */
export interface WebhookDelivery {
  deliveryId: string
  endpointId: string
  url: string
  type: WebhookBody['type']
  state: 'waiting' | 'delivered' | 'failed'
  /**
   * Attempts since the event, or since somebody sent the delivery again, including the one in flight. An attempt that
   * ended because its process stopped does not count.
   */
  attempts: number
  createdAt: Date
  /** When a waiting delivery is tried next; null if it has ended, or while an attempt is in flight. */
  nextAttemptAt: Date | null
  /** HTTP status of the last answer; null if there was none. */
  status: number | null
  error: string | null
}

/** A page of an app's deliveries, newest first. */
interface DeliveryPage {
  deliveries: WebhookDelivery[]
  /** The ID of the last delivery of this page; undefined if no page follows. */
  next: string | undefined
}

/**
 * Lists at most `limit` deliveries of an app, newest first. If `before` is given, the list begins after this delivery,
 * and is empty if there is no such delivery.
 */
export async function listDeliveries(
  db: Database,
  appId: number,
  limit: number,
  before?: string,
): Promise<DeliveryPage> {
  if (before !== undefined && !isUuid(before)) return { deliveries: [], next: undefined }
  const position = sql`select created_at, delivery_id from webhook_deliveries where app_id = ${appId} and delivery_id = ${before}`
  const rows = await selectDeliveries(db, appId)
    .$if(before !== undefined, (query) => query.where(sql<boolean>`(d.created_at, d.delivery_id) < (${position})`))
    .orderBy('d.created_at', 'desc')
    .orderBy('d.delivery_id', 'desc')
    .limit(limit + 1)
    .execute()
  const shown = rows.slice(0, limit)
  return { deliveries: shown.map(toDelivery), next: rows.length > limit ? shown.at(-1)?.delivery_id : undefined }
}

/** Returns a delivery of an app; undefined if there is none. */
export async function findDelivery(
  db: Database,
  appId: number,
  deliveryId: string,
): Promise<WebhookDelivery | undefined> {
  if (!isUuid(deliveryId)) return undefined
  const row = await selectDeliveries(db, appId).where('d.delivery_id', '=', deliveryId).executeTakeFirst()
  return row && toDelivery(row)
}

/**
 * Makes a delivery due now, for another three days, under its old `webhook-id`. If an attempt is in flight, no second
 * attempt begins beside it. Returns false if the app has no such delivery, or if its endpoint was removed.
 */
export async function sendAgain(db: Database, appId: number, deliveryId: string): Promise<boolean> {
  if (!isUuid(deliveryId)) return false
  const { rows } = await sql`
    update webhook_deliveries d
    set state = 'waiting', tries = case when ${isInFlight} then tries else 0 end, ended_at = null,
      next_attempt_at = case when ${isInFlight} then next_attempt_at else now() end,
      retry_until = case when type = ${webhookTest} then now() else now() + make_interval(days => ${retryDays}) end
    from webhook_endpoints e
    where d.app_id = ${appId} and d.delivery_id = ${deliveryId}
      and e.app_id = ${appId} and e.endpoint_id = d.endpoint_id and e.removed_at is null
    returning d.delivery_id
  `.execute(db)
  return rows.length > 0
}

/** Selects the deliveries of an app, except those of removed endpoints. */
function selectDeliveries(db: Database, appId: number) {
  return db
    .selectFrom('webhook_deliveries as d')
    .innerJoin('webhook_endpoints as e', (join) =>
      join.onRef('e.app_id', '=', 'd.app_id').onRef('e.endpoint_id', '=', 'd.endpoint_id'),
    )
    .select(['d.delivery_id', 'd.endpoint_id', 'e.url', 'd.type', 'd.state', 'd.tries', 'd.created_at'])
    .select(['d.next_attempt_at', 'd.last_status', 'd.last_error'])
    .select(sql<boolean>`${isInFlight}`.as('is_in_flight'))
    .where('d.app_id', '=', appId)
    .where('e.removed_at', 'is', null)
}

type Row = Awaited<ReturnType<ReturnType<typeof selectDeliveries>['execute']>>[number]

function toDelivery(row: Row): WebhookDelivery {
  return {
    deliveryId: row.delivery_id,
    endpointId: row.endpoint_id,
    url: row.url,
    type: row.type,
    state: row.state,
    attempts: row.tries,
    createdAt: row.created_at,
    nextAttemptAt: row.state === 'waiting' && !row.is_in_flight ? row.next_attempt_at : null,
    status: row.last_status,
    error: row.last_error,
  }
}
