import { limits } from '@sluice/contract'
import { isDue, prepared, sql } from '@sluice/database'
import type { ImportContext, ImportId } from '../context.ts'
import { enqueueImportEvent } from '../result/import-event.ts'
import { changeState } from '../states.ts'
import { expireOrphans, receivedSources } from './reservation.ts'

/**
 * Time between the end of the upload window and expiry. It lets a PUT that begins in the window's last second complete.
 */
const uploadGraceMs = 60_000

/**
 * Time after the upload window in which storage is still asked for a late file, less and less often. An import whose
 * file comes in this time is queued.
 */
const lateUploadWatchMs = 24 * 60 * 60_000

/**
 * Longest pause between two checks of a late upload. Each pause is a quarter of the time since the window ended and the
 * import expired. If Postgres's clock was set back for a while, one of the two is much earlier by the clock of now.
 */
const longestCheckPauseMs = lateUploadWatchMs / 4

/** Maximum number of imports that one run checks. */
const passSize = 500

/** Maximum number of requests to storage that are in flight at the same time. */
const parallelRequests = 16

interface AwaitedUpload extends ImportId {
  objectKey: string
  sequenceNumber: number
  isOverdue: boolean
}

/**
 * Asks storage for awaited uploads (service.md, States and transitions; design.md §3, Upload never comes). Queues an
 * import whose file is there, and expires an import whose file did not come in time. Any number of processes may run
 * this at once. Stops when the process shuts down. Imports that were not checked by then are due again after
 * `UPLOAD_CHECK_INTERVAL`.
 *
 * Returns how many imports it queued and expired.
 */
export async function noticeUploads(context: ImportContext): Promise<{ queued: number; expired: number }> {
  const awaited = await claimDueChecks(context)
  // In import order: otherwise a later import of the same pass could be queued, and claimed, before an earlier one.
  awaited.sort((a, b) => a.sequenceNumber - b.sequenceNumber)
  const noticed = { queued: 0, expired: 0 }
  for (let start = 0; start < awaited.length; start += parallelRequests) {
    if (context.shutdown?.aborted) return noticed
    const slice = awaited.slice(start, start + parallelRequests)
    const stats = await Promise.allSettled(slice.map((upload) => context.storage.stat(upload.objectKey)))
    for (const [index, upload] of slice.entries()) {
      const stat = stats[index]
      // A request that fails must not delay other imports. The next run asks for this upload again.
      if (stat?.status !== 'fulfilled')
        context.log.warn({ import_id: upload.importId, err: stat?.reason }, 'upload not looked up')
      else if (stat.value !== undefined) noticed.queued += await queueUpload(context, upload, stat.value)
      else if (upload.isOverdue) noticed.expired += await expire(context, upload)
    }
  }
  noticed.expired += await expireOrphans(context)
  return noticed
}

/** Returns the imports whose upload is due for a check, and sets when each is due again. */
async function claimDueChecks({ db, settings }: ImportContext): Promise<AwaitedUpload[]> {
  const intervalSeconds = settings.UPLOAD_CHECK_INTERVAL / 1000
  const checkAt = sql`upload_check_at`
  const isCheckDue = sql`
    (${isDue(checkAt, longestCheckPauseMs)} or state = 'awaiting_upload' and ${isDue(checkAt, settings.UPLOAD_CHECK_INTERVAL)})`
  const expiresAt = sql`i.upload_expires_at + make_interval(secs => ${uploadGraceMs / 1000})`
  const rows = await prepared<{
    app_id: number
    import_id: string
    object_key: string
    sequence_number: number
    is_overdue: boolean
  }>`
    update imports i
    set upload_check_at = case
      when i.state = 'awaiting_upload' then now() + make_interval(secs => ${intervalSeconds})
      when now() > i.upload_expires_at + make_interval(secs => ${lateUploadWatchMs / 1000}) then null
      else now() + greatest(make_interval(secs => ${intervalSeconds}), (now() - greatest(i.finished_at, i.upload_expires_at)) / 4)
    end
    where (i.app_id, i.import_id) in (
      select app_id, import_id from imports
      where ${isCheckDue} and source <> all (${receivedSources}) order by upload_check_at limit ${passSize} for update skip locked
    )
    returning i.app_id, i.import_id, i.object_key, i.sequence_number,
      ${isDue(expiresAt, limits.uploadWindowMs + uploadGraceMs)} as is_overdue
  `.execute(db)
  return rows.rows.map((row) => ({
    appId: row.app_id,
    importId: row.import_id,
    objectKey: row.object_key,
    sequenceNumber: row.sequence_number,
    isOverdue: row.is_overdue,
  }))
}

/** Queues an import whose file is there. Returns 1, or 0 if another process was faster. */
export async function queueUpload(
  { db, log }: Pick<ImportContext, 'db' | 'log'>,
  { appId, importId }: ImportId,
  stored: { etag: string; byteSize: number },
): Promise<number> {
  const result = await changeState(db, ['awaiting_upload', 'expired'], 'queued')
    .set({
      queued_at: sql<Date>`now()`,
      finished_at: null,
      upload_check_at: null,
      etag: stored.etag,
      stored_size: stored.byteSize,
    })
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirst()
  if (result.numUpdatedRows > 0n)
    log.info({ app_id: appId, import_id: importId, byte_size: stored.byteSize }, 'upload noticed')
  return Number(result.numUpdatedRows)
}

/** Expires an import. Returns 1, or 0 if its upload is no longer awaited. */
async function expire({ db, log }: ImportContext, { appId, importId }: ImportId): Promise<number> {
  const expired = await db.transaction().execute(async (tx) => {
    const result = await changeState(tx, ['awaiting_upload'], 'expired')
      .set({ finished_at: sql<Date>`now()` })
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .executeTakeFirst()
    if (result.numUpdatedRows > 0n) await enqueueImportEvent(tx, { appId, importId }, 'expired')
    return Number(result.numUpdatedRows)
  })
  if (expired > 0)
    log.info({ app_id: appId, import_id: importId }, `no upload within ${limits.uploadWindowMs / 60_000} minutes`)
  return expired
}
