import { isDue, sql } from '@sluice/database'
import type { ImportContext, ImportId } from './context.ts'

/** A dispatched import that nobody claimed is dispatched again after this long, seconds: its job may be lost. */
const dispatchAgainSeconds = 10
const dispatchedAgainAt = sql`i.dispatched_at + make_interval(secs => ${dispatchAgainSeconds})`

/** Longest pause before another try, ms. */
export const longestRetryDelay = 60_000

/** An import whose turn it is; the job's ID carries the attempt, so that a new turn is never taken for a doubled job. */
export interface Turn extends ImportId {
  jobId: string
}

/**
 * Finds the imports whose turn it is, in all apps or in one: the head of each app's line, unless another import of the
 * app is active; and those whose worker has not been heard of for a lease. Each is given once, and again when nobody
 * claims it for 10 s.
 */
export async function takeTurns({ db, settings }: ImportContext, appId?: number): Promise<Turn[]> {
  const ofApp = appId === undefined ? sql`true` : sql`i.app_id = ${appId}`
  const { rows } = await sql<{ app_id: number; import_id: string; attempt: number }>`
    update imports set dispatched_at = now()
    where (app_id, import_id) in (
      select i.app_id, i.import_id from imports i
      where ${ofApp} and i.state in ('queued', 'processing')
        and (i.dispatched_at is null or ${isDue(dispatchedAgainAt, dispatchAgainSeconds * 1000)})
        and (${isAbandoned(settings.IMPORT_LEASE)} or ${isNext(settings.UPLOAD_ORDER_WAIT)})
      for update skip locked
    )
    returning app_id, import_id, attempt
  `.execute(db)
  return rows.map((row) => ({
    appId: row.app_id,
    importId: row.import_id,
    jobId: `${row.import_id}-${row.attempt}`,
  }))
}

/** Gives a turn back that this worker cannot take, so that it is given again at once. */
export async function returnTurn({ db }: ImportContext, { appId, importId }: ImportId): Promise<void> {
  await db
    .updateTable('imports')
    .set({ dispatched_at: null })
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .execute()
}

/** The worker of `i` has let its lease, of `lease` ms, run out. */
export function isAbandoned(lease: number) {
  return sql`(i.state = 'processing' and ${isDue(sql`i.lease_until`, lease)})`
}

/**
 * `i` is queued, and no other import of its import order runs, was released after it committed a batch, or precedes `i`.
 * A preceding import that waits for a retry counts. One that is still uploading counts for `orderWait` ms after the file of
 * `i` was there. Once `i` has committed a batch, nothing precedes it any more: files never interleave (design.md §3, Request
 * order).
 */
export function isNext(orderWait: number) {
  const waitedUntil = sql`i.queued_at + make_interval(secs => ${orderWait / 1000})`
  return sql`(
    i.state = 'queued'
    and (i.retry_at is null or ${isDue(sql`i.retry_at`, longestRetryDelay)})
    and not exists (
      select from imports e
      where e.app_id = i.app_id and e.dry_run = i.dry_run and e.state in ('awaiting_upload', 'queued', 'processing')
        and e.import_id <> i.import_id
        and (
          e.state = 'processing' or e.holds_order
          or not i.holds_order and e.line_number < i.line_number
            and (e.state = 'queued' or not ${isDue(waitedUntil, orderWait)})
        )
    )
  )`
}
