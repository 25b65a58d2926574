import type { Settings } from '@sluice/config'
import { isDue, prepared, sql } from '@sluice/database'
import type { ImportContext, ImportId } from '../context.ts'

/** Settings that {@link DispatchContext} needs. */
export const dispatchSettings = ['IMPORT_LEASE', 'UPLOAD_ORDER_WAIT'] as const

export interface DispatchContext extends Pick<ImportContext, 'db'> {
  settings: Settings<(typeof dispatchSettings)[number]>
}

/** Seconds until a dispatched import that no worker has claimed is dispatched again. Its job may be lost. */
const dispatchAgainSeconds = 10
const dispatchedAgainAt = sql`i.dispatched_at + make_interval(secs => ${dispatchAgainSeconds})`

/** An import that is next in its app's order and waits for a worker. */
export interface DispatchedImport extends ImportId {
  /** Differs with each dispatch. */
  jobId: string
  /** The import was dispatched before, and no worker has claimed it. The earlier job may be lost. */
  again: boolean
}

/**
 * Dispatches the imports that are next in order (`runnable_import` of the schema), in all apps or in one. An import
 * whose worker let its lease run out is next, too.
 *
 * Returns each import once, and again if no worker claims it for 10 s. Reads only the first imports of each app,
 * however many wait.
 */
export async function dispatchNextInOrder(
  { db, settings }: DispatchContext,
  appId?: number,
): Promise<DispatchedImport[]> {
  const orders =
    appId === undefined
      ? sql`import_orders`
      : sql`(select ${appId}::integer as app_id, dry_run from (values (false), (true)) kinds (dry_run))`
  const { rows } = await prepared<{
    app_id: number
    import_id: string
    attempt: number
    dispatched: number
    again: boolean
  }>`
    update imports set dispatched_at = now()
    from (
      select i.app_id, i.import_id, i.dispatched_at is not null as again
      from ${orders} o
        cross join lateral runnable_import(o.app_id, o.dry_run, make_interval(secs => ${settings.UPLOAD_ORDER_WAIT / 1000})) next
        cross join lateral (
          select * from imports i
          where i.app_id = next.app_id and i.import_id = next.import_id and i.attempt = next.attempt
            and ${awaitsWorker(settings.IMPORT_LEASE)}
            and (i.dispatched_at is null or ${isDue(dispatchedAgainAt, dispatchAgainSeconds * 1000)})
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

/** Builds the condition that no worker has `i`: it is queued, or its lease, which lasts `leaseMs`, has run out. */
export function awaitsWorker(leaseMs: number) {
  return sql`(i.state = 'queued' or i.state = 'processing' and ${isDue(sql`i.lease_until`, leaseMs)})`
}

/**
 * Builds the condition that `i` is next in order. The row that the order rule saw must be the row that is claimed:
 * another worker may have claimed and released it since.
 */
export function isNext(orderWaitMs: number) {
  return sql`exists (
    select from runnable_import(i.app_id, i.dry_run, make_interval(secs => ${orderWaitMs / 1000})) next
    where next.import_id = i.import_id and next.attempt = i.attempt
  )`
}
