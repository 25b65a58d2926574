import { type Database, isDue, sql } from '@sluice/database'
import { lastWriteHours, lastWriteMs } from '@sluice/storage'
import { type ExportContext, type ExportId, exportKey } from './context.ts'

/** Maximum number of exports that one query returns. */
const passSize = 100

/** Whether it is time for an export's second removal. */
const sweepIsDue = isDue(sql`sweep_at`, lastWriteMs)

/** The time of an export's second removal if its files are removed now for the first time. */
const nextSweep = sql<Date>`now() + make_interval(hours => ${lastWriteHours})`

interface StoredExport extends ExportId {
  attempt: number
}

type RemovalContext = Pick<ExportContext, 'db' | 'storage' | 'log' | 'shutdown'>

/** The last snapshot of an export is from before a deletion of users. */
const isBeforeDeletion = sql<boolean>`coalesce(
  snapshot_order < (select max(d.data_order) from recently_deleted_users d where d.app_id = exports.app_id), false
)`

/**
 * Removes the files of an app's exports from before the last deletion of users, because a deletion completes: they may
 * hold data of deleted users. Their links are answered 410. An export that runs begins again with a new snapshot. Safe
 * to repeat: exports from after the deletion stay (second-day.md §3, Exports).
 *
 * Returns the number of exports whose files could not be removed. Throws when the process shuts down.
 */
export async function removeExportsOfApp(context: RemovalContext, appId: number): Promise<number> {
  const { db, shutdown } = context
  await db
    .updateTable('exports')
    .set({
      state: 'queued',
      attempt: sql<number>`attempt + 1`,
      tries: sql<number>`greatest(tries - 1, 0)`,
      lease_until: null,
    })
    .where('app_id', '=', appId)
    .where('state', '=', 'processing')
    .where(isBeforeDeletion)
    .execute()
  const rows = await db
    .selectFrom('exports')
    .select(['export_id', 'attempt', 'state', isBeforeDeletion.as('is_before')])
    .where('app_id', '=', appId)
    .where('files_removed_at', 'is', null)
    .where('attempt', '>', 0)
    .execute()
  let failures = 0
  for (const { export_id: exportId, attempt, state, is_before: isBefore } of rows) {
    shutdown?.throwIfAborted()
    const stored = { appId, exportId, attempt }
    const hasEnded = state === 'completed' || state === 'failed'
    // Only the last attempt can have a snapshot from after the deletion. The next attempt of a queued export will.
    const upTo = state === 'queued' || (isBefore && hasEnded) ? attempt : attempt - 1
    if (!(await clear(context, stored, upTo))) failures += 1
    else if (isBefore && hasEnded) await noteRemoved(context, stored)
    else if (upTo > 0) await sweepLater(context, stored)
  }
  return failures
}

/**
 * Removes the files of exports that ended `FILE_RETENTION_DAYS` ago. A day after each removal, removes what late
 * requests have written under the same keys. Safe to run in several processes at once. Returns how many exports it
 * handled.
 */
export async function removeOldExports(context: ExportContext): Promise<number> {
  const { db, settings, shutdown } = context
  const isOld = sql`
    files_removed_at is null and finished_at < now() - make_interval(days => ${settings.FILE_RETENTION_DAYS}::integer)`
  const { rows } = await sql<{
    app_id: number
    export_id: string
    attempt: number
    is_old: boolean
    keeps_file: boolean
  }>`
    select app_id, export_id, attempt, coalesce(${isOld}, false) as is_old, files_removed_at is null as keeps_file
    from exports where ${isOld} or sweep_at is not null and ${sweepIsDue}
    limit ${passSize}
  `.execute(db)
  let handled = 0
  for (const { app_id: appId, export_id: exportId, attempt, ...found } of rows) {
    if (shutdown?.aborted) return handled
    const stored = { appId, exportId, attempt }
    // If an export keeps its file, only the files of earlier attempts are removed.
    if (!(await clear(context, stored, found.keeps_file && !found.is_old ? attempt - 1 : attempt))) continue
    await (found.is_old ? noteRemoved(context, stored) : endSweep(context, stored))
    handled += 1
  }
  return handled
}

/** Removes the files of the attempts 1 to `upTo`. Returns false if storage failed. */
async function clear({ storage, log }: RemovalContext, stored: StoredExport, upTo: number): Promise<boolean> {
  try {
    for (let attempt = 1; attempt <= upTo; attempt++) await storage.removeAll(exportKey(stored, attempt))
    return true
  } catch (error) {
    log.warn({ app_id: stored.appId, export_id: stored.exportId, err: error }, 'files of an export not removed')
    return false
  }
}

async function noteRemoved({ db }: RemovalContext, stored: StoredExport): Promise<void> {
  await updateOf(db, stored)
    .set({ files_removed_at: sql<Date>`now()`, sweep_at: nextSweep })
    .where('finished_at', 'is not', null)
    .execute()
}

/** Schedules a second removal: a worker that was stopped may still write the file of an earlier attempt. */
async function sweepLater({ db }: RemovalContext, stored: StoredExport): Promise<void> {
  await updateOf(db, stored).set({ sweep_at: nextSweep }).execute()
}

async function endSweep({ db }: RemovalContext, stored: StoredExport): Promise<void> {
  await updateOf(db, stored).set({ sweep_at: null }).where(sweepIsDue).execute()
}

/** Builds an update of an export's row. */
function updateOf(db: Database, { appId, exportId }: StoredExport) {
  return db.updateTable('exports').where('app_id', '=', appId).where('export_id', '=', exportId)
}
