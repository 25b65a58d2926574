import { isUuid, limits, type WebhookBody, type WebhookEvent, webhookTest } from '@sluice/contract'
import { type Database, dueAttempts, isDue, prepared, type RawBuilder, sql } from '@sluice/database'

/** The key of a delivery in the outbox. */
export interface DeliveryId {
  appId: number
  deliveryId: string
}

/** A delivery that may be sent now. */
export interface DueDelivery extends DeliveryId {
  /** How many times a process has claimed the delivery so far. */
  attempt: number
}

/** Something that happened in an app. */
export interface AppEvent {
  type: WebhookEvent
  /**
   * Identifies the event among the events of its type, such as an import's ID. A second event with the same ID is not
   * recorded.
   */
  id: string
  timestamp: string
  data: object
  /** `data` contains the name of an import's file. */
  hasFileName?: boolean
}

/** For how long a delivery is tried (second-day.md §5, Tries). */
export const retryDays = 3

/** Whether an endpoint of the app has chosen the event. If none has, the caller need not read the data of the event. */
export async function isEventChosen(tx: Database, appId: number, type: WebhookEvent): Promise<boolean> {
  const { rows } = await sql`
    select from webhook_endpoints where app_id = ${appId} and removed_at is null and disabled_at is null and ${type}::text = any(events) limit 1
  `.execute(tx)
  return rows.length > 0
}

/** Selects `is_full`: whether the maximum number of deliveries wait for the endpoint `e`. */
const backlogOfEndpoint = sql`(
  select count(*) >= ${limits.webhookWaiting} as is_full from (
    select from webhook_deliveries d
    where d.app_id = e.app_id and d.endpoint_id = e.endpoint_id and d.state = 'waiting' limit ${limits.webhookWaiting}
  ) waiting
) backlog`

/** The columns `state`, `ended_at` and `last_error` of a new delivery. */
const initialState = sql`case when backlog.is_full then 'failed' else 'waiting' end,
  case when backlog.is_full then now() end,
  case when backlog.is_full then ${`${limits.webhookWaiting} deliveries wait for this endpoint already`} end`

/**
 * Records a delivery of an event for each endpoint of the app that has chosen it (second-day.md §5, Outbox). `tx` is
 * the transaction of the event, so that both are committed together or not at all. If too many deliveries wait for an
 * endpoint already, the delivery is recorded as failed, and can be sent again by hand.
 */
export async function enqueueEvent(tx: Database, appId: number, event: AppEvent): Promise<void> {
  const { type, id, timestamp, data, hasFileName = false } = event
  const body = JSON.stringify({ type, timestamp, data } satisfies WebhookBody)
  await sql`
    insert into webhook_deliveries
      (app_id, endpoint_id, type, event, body, has_file_name, retry_until, state, ended_at, last_error)
    select e.app_id, e.endpoint_id, ${type}::text, ${`${type}:${id}`}::text, ${body}::text, ${hasFileName}::boolean,
      now() + make_interval(days => ${retryDays}), ${initialState}
    from webhook_endpoints e cross join lateral ${backlogOfEndpoint}
    where e.app_id = ${appId} and e.removed_at is null and e.disabled_at is null and ${type}::text = any(e.events)
    on conflict (app_id, endpoint_id, event) do nothing
  `.execute(tx)
}

/**
 * Records a test delivery for an endpoint, whatever events it has chosen. It is tried once, or not at all if too many
 * deliveries wait already. Returns undefined if the app has no such endpoint.
 */
export async function enqueueTest(db: Database, appId: number, endpointId: string): Promise<DeliveryId | undefined> {
  if (!isUuid(endpointId)) return undefined
  const event = `${webhookTest}:${crypto.randomUUID()}`
  const body: WebhookBody = {
    type: webhookTest,
    timestamp: new Date().toISOString(),
    data: { endpoint_id: endpointId },
  }
  const { rows } = await sql<{ delivery_id: string }>`
    insert into webhook_deliveries
      (app_id, endpoint_id, type, event, body, retry_until, state, ended_at, last_error)
    select e.app_id, e.endpoint_id, ${webhookTest}::text, ${event}::text, ${JSON.stringify(body)}::text, now(),
      ${initialState}
    from webhook_endpoints e cross join lateral ${backlogOfEndpoint}
    where app_id = ${appId} and endpoint_id = ${endpointId} and removed_at is null
    returning delivery_id
  `.execute(db)
  return rows[0] && { appId, deliveryId: rows[0].delivery_id }
}

/** The longest pause between two attempts of a delivery, seconds. */
export const longestRetrySeconds = 4 * 60 * 60

/**
 * How long a claimed delivery is kept from other processes, ms: an attempt of at most 15 s, and time to record its
 * result.
 */
export const leaseMs = 20_000

/** Maximum numbers of attempts that one app and one endpoint have in flight, in the whole deployment. */
export const attemptsOfApp = 8
export const attemptsOfEndpoint = 2

const attempt = dueAttempts(longestRetrySeconds)

/**
 * Condition on `webhook_deliveries`: the next attempt is due. During an attempt, `next_attempt_at` is the end of the
 * lease.
 */
export const isAttemptDue = attempt.isDue

/** Condition on `webhook_deliveries`: an attempt is in flight. */
export const isInFlight = sql`(lease_until is not null and not ${isDue(sql`lease_until`, leaseMs)})`

/** Builds the condition that the endpoint of a row was neither removed nor disabled. */
const isOpen = (row: 'w' | 'd') => sql`exists (
  select from webhook_endpoints e
  where e.app_id = ${sql.ref(`${row}.app_id`)} and e.endpoint_id = ${sql.ref(`${row}.endpoint_id`)}
    and removed_at is null and disabled_at is null
)`

/** Selects the due deliveries of the endpoint `w`, oldest first, at most {@link attemptsOfEndpoint}. */
function nextOfEndpoint(): RawBuilder<unknown> {
  const some = (condition: RawBuilder<unknown>) => sql`(
    select app_id, delivery_id, attempt, next_attempt_at from webhook_deliveries
    where app_id = w.app_id and endpoint_id = w.endpoint_id and state = 'waiting' and ${condition}
    order by next_attempt_at limit ${attemptsOfEndpoint}
  )`
  // Each half reads its own end of the index, and skips the deliveries in between, which wait for another attempt.
  return sql`
    select app_id, delivery_id, attempt, next_attempt_at, row_number() over (order by next_attempt_at) as place
    from (${some(attempt.isPast)} union all ${some(attempt.isTooFarAhead)}) each
    where ${isOpen('w')}
  `
}

/**
 * Returns at most `limit` due deliveries, at most {@link attemptsOfEndpoint} of one endpoint and {@link attemptsOfApp}
 * of one app. The order is round-robin among apps, and within an app among its endpoints. The cost depends on the
 * number of endpoints with deliveries, not on the number of deliveries.
 */
export async function dueDeliveries(db: Database, limit: number): Promise<DueDelivery[]> {
  const { rows } = await prepared<{ app_id: number; delivery_id: string; attempt: number }>`
    with recursive w as (
      (select app_id, endpoint_id from webhook_deliveries where state = 'waiting' order by app_id, endpoint_id limit 1)
      union all
      select next.app_id, next.endpoint_id from w cross join lateral (
        select app_id, endpoint_id from webhook_deliveries
        where state = 'waiting' and (app_id, endpoint_id) > (w.app_id, w.endpoint_id)
        order by app_id, endpoint_id limit 1
      ) next
    ), due as (
      select next.app_id, next.delivery_id, next.attempt, next.next_attempt_at,
        row_number() over (partition by next.app_id order by next.place, next.next_attempt_at) as place_in_app
      from w cross join lateral (${nextOfEndpoint()}) next
    )
    select app_id, delivery_id, attempt from due where place_in_app <= ${attemptsOfApp}
    order by place_in_app, next_attempt_at limit ${limit}
  `.execute(db)
  return rows.map((row) => ({ appId: row.app_id, deliveryId: row.delivery_id, attempt: row.attempt }))
}

/**
 * Returns the number of waiting deliveries and of failing endpoints, and for how many seconds the most overdue delivery
 * has been due. For the last figure, apps with an attempt in flight do not count, because their receivers may be slow.
 * Nor do endpoints that were removed or disabled, because nothing is sent to them.
 */
export async function webhookBacklog(
  db: Database,
): Promise<{ waiting: number; overdue: number; failingEndpoints: number }> {
  const { rows } = await sql<{ waiting: number; overdue: number; failing: number }>`
    select count(*) as waiting,
      (select count(*) from webhook_endpoints where failing_since is not null) as failing,
      greatest(coalesce(extract(epoch from now() - min(next_attempt_at) filter (where ${isOpen('d')} and not exists (
        select from webhook_deliveries o where o.app_id = d.app_id and ${isInFlight}
      ))), 0), 0)::float8 as overdue
    from webhook_deliveries d where state = 'waiting'
  `.execute(db)
  const [row] = rows
  return { waiting: row?.waiting ?? 0, overdue: row?.overdue ?? 0, failingEndpoints: row?.failing ?? 0 }
}
