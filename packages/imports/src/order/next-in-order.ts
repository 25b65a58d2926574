import { isDue, isPaused, sql } from '@sluice/database'
import type { ImportContext, ImportId } from '../context.ts'
import { unfinishedStates } from '../states.ts'

/** Seconds until a dispatched import that no worker has claimed is dispatched again. Its job may be lost. */
const dispatchAgainSeconds = 10
const dispatchedAgainAt = sql`i.dispatched_at + make_interval(secs => ${dispatchAgainSeconds})`

/** Longest pause before another try. */
export const longestRetryDelayMs = 60_000

/** An import that is next in its app's order and waits for a worker. */
export interface DispatchedImport extends ImportId {
  /** Differs with each dispatch. */
  jobId: string
  /** The import was dispatched before, and no worker has claimed it. The earlier job may be lost. */
  again: boolean
}

/**
 * Dispatches the imports that are next in order, in all apps or in one (service.md, States and transitions). An app's
 * first import is next unless another import of the app is active. An import whose worker let its lease run out is
 * next, too. A paused app has no next import.
 *
 * Returns each import once, and again if no worker claims it for 10 s. Reads only the first imports of each app,
 * however many wait.
 */
export async function dispatchNextInOrder(
  { db, settings }: ImportContext,
  appId?: number,
): Promise<DispatchedImport[]> {
  const { rows } = await sql<{
    app_id: number
    import_id: string
    attempt: number
    dispatched: number
    again: boolean
  }>`
    /* prepared */
    update imports set dispatched_at = now()
    from (
      with recursive ${appId === undefined ? ordersOfAllApps : ordersOf(appId)},
      firsts as materialized (
        select app_id, coalesce(
          (
            select import_id from imports e where e.app_id = orders.app_id and e.dry_run = orders.dry_run
              and ${isActive} limit 1
          ),
          (
            select import_id from imports e where e.app_id = orders.app_id and e.dry_run = orders.dry_run
              and e.state = 'queued' order by sequence_number limit 1
          )
        ) as import_id
        from orders where not ${isPaused(sql`orders.app_id`)}
      )
      select i.app_id, i.import_id, i.dispatched_at is not null as again from firsts cross join lateral (
        select * from imports i where i.app_id = firsts.app_id and i.import_id = firsts.import_id
          and i.state in ('queued', 'processing')
          and (i.dispatched_at is null or ${isDue(dispatchedAgainAt, dispatchAgainSeconds * 1000)})
          and (${isAbandoned(settings.IMPORT_LEASE)} or ${isNext(settings.UPLOAD_ORDER_WAIT)})
        for update skip locked
      ) i
    ) next
    where imports.app_id = next.app_id and imports.import_id = next.import_id
    returning imports.app_id, imports.import_id, attempt, again, extract(epoch from imports.dispatched_at)::float8 as dispatched
  `.execute(db)
  return rows.map((row) => ({
    appId: row.app_id,
    importId: row.import_id,
    jobId: `${row.import_id}-${row.attempt}-${row.dispatched}`,
    again: row.again,
  }))
}

/**
 * The import orders that hold an unfinished import. Each app has one order of imports and one of dry runs. Each step of
 * the recursion jumps to the following order in the index.
 */
const ordersOfAllApps = sql`orders as (
  (
    select app_id, dry_run from imports where state in ${unfinishedStates}
    order by app_id, dry_run limit 1
  )
  union all
  select following.app_id, following.dry_run from orders cross join lateral (
    select app_id, dry_run from imports
    where state in ${unfinishedStates} and (app_id, dry_run) > (orders.app_id, orders.dry_run)
    order by app_id, dry_run limit 1
  ) following
)`

function ordersOf(appId: number) {
  return sql`orders as (select ${appId}::integer as app_id, dry_run from (values (false), (true)) kinds (dry_run))`
}

/** Builds the condition that the lease of `i`, which lasts `leaseMs`, has run out. */
export function isAbandoned(leaseMs: number) {
  return sql`(i.state = 'processing' and ${isDue(sql`i.lease_until`, leaseMs)})`
}

/**
 * `e` is active: it runs, or was released after it committed a batch. This is the condition of the unique index, so
 * each order has at most one active import.
 */
const isActive = sql`(e.state = 'processing' or e.state = 'queued' and e.holds_order)`

/**
 * `i` is queued, no other import of its order is active, and none precedes `i`.
 *
 * A preceding import that waits for a retry counts. A preceding import that is still uploading counts until the file of
 * `i` has been there for `orderWaitMs`. Once `i` has committed a batch, nothing precedes it any more: files never
 * interleave (design.md §3, Request order).
 *
 * Each part is one index lookup, however many imports of the app wait.
 */
export function isNext(orderWaitMs: number) {
  const waitedUntil = sql`i.queued_at + make_interval(secs => ${orderWaitMs / 1000})`
  const ofItsOrder = sql`select from imports e where e.app_id = i.app_id and e.dry_run = i.dry_run`
  const preceding = sql`${ofItsOrder} and e.sequence_number < i.sequence_number`
  return sql`(
    i.state = 'queued'
    and (i.retry_at is null or ${isDue(sql`i.retry_at`, longestRetryDelayMs)})
    and not exists (${ofItsOrder} and ${isActive} and e.import_id <> i.import_id)
    and (
      i.holds_order
      or not exists (${preceding} and e.state = 'queued')
        and (${isDue(waitedUntil, orderWaitMs)} or not exists (${preceding} and e.state = 'awaiting_upload'))
    )
  )`
}
