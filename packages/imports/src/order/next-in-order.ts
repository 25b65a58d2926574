import { isDue, sql } from '@sluice/database'
import type { ImportContext, ImportId } from '../context.ts'

/** A dispatched import that nobody claimed is dispatched again after this long, seconds: its job may be lost. */
const dispatchAgainSeconds = 10
const dispatchedAgainAt = sql`i.dispatched_at + make_interval(secs => ${dispatchAgainSeconds})`

/** Longest pause before another try, ms. */
export const longestRetryDelay = 60_000

/** An import that is next in its app's order, and waits for a worker. */
export interface Turn extends ImportId {
  /** Each dispatch has another one. */
  jobId: string
  /** It was dispatched before, and no worker has claimed it: its job may be lost. */
  again: boolean
}

/**
 * Finds the imports that are next in order, in all apps or in one: the first of each app's order, unless another import of it is
 * active; and those whose worker has let its lease run out. Each is returned once, and again if nobody claims it for 10 s.
 *
 * Reads the first imports of each app only, however many wait behind them.
 */
export async function takeTurns({ db, settings }: ImportContext, appId?: number): Promise<Turn[]> {
  const { rows } = await sql<{
    app_id: number
    import_id: string
    attempt: number
    dispatched: number
    again: boolean
  }>`
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
        from orders
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

/** Each app's order of imports and of dry runs that has one that has not ended. Jumps from one to the next in the index. */
const ordersOfAllApps = sql`orders as (
  (
    select app_id, dry_run from imports where state in ('awaiting_upload', 'queued', 'processing')
    order by app_id, dry_run limit 1
  )
  union all
  select following.app_id, following.dry_run from orders cross join lateral (
    select app_id, dry_run from imports
    where state in ('awaiting_upload', 'queued', 'processing') and (app_id, dry_run) > (orders.app_id, orders.dry_run)
    order by app_id, dry_run limit 1
  ) following
)`

function ordersOf(appId: number) {
  return sql`orders as (select ${appId}::integer as app_id, dry_run from (values (false), (true)) kinds (dry_run))`
}

/** The worker of `i` has let its lease, of `lease` ms, run out. */
export function isAbandoned(lease: number) {
  return sql`(i.state = 'processing' and ${isDue(sql`i.lease_until`, lease)})`
}

/** `e` runs, or was released after it committed a batch. At most one of each order does: the condition of the unique index. */
const isActive = sql`(e.state = 'processing' or e.state = 'queued' and e.holds_order)`

/**
 * `i` is queued, and no other import of its import order runs, was released after it committed a batch, or precedes `i`.
 * A preceding import that waits for a retry counts. One that is still uploading counts for `orderWait` ms after the file of
 * `i` was there. Once `i` has committed a batch, nothing precedes it any more: files never interleave (design.md §3, Request
 * order).
 *
 * Each part is one lookup in an index, however many imports of the app wait.
 */
export function isNext(orderWait: number) {
  const waitedUntil = sql`i.queued_at + make_interval(secs => ${orderWait / 1000})`
  const ofItsOrder = sql`select from imports e where e.app_id = i.app_id and e.dry_run = i.dry_run`
  const preceding = sql`${ofItsOrder} and e.sequence_number < i.sequence_number`
  return sql`(
    i.state = 'queued'
    and (i.retry_at is null or ${isDue(sql`i.retry_at`, longestRetryDelay)})
    and not exists (${ofItsOrder} and ${isActive} and e.import_id <> i.import_id)
    and (
      i.holds_order
      or not exists (${preceding} and e.state = 'queued')
        and (${isDue(waitedUntil, orderWait)} or not exists (${preceding} and e.state = 'awaiting_upload'))
    )
  )`
}
