import { limits } from '@sluice/contract'
import { isDue, sql } from '@sluice/database'
import type { ImportContext, ImportId } from '../context.ts'
import { expireOrphans, receivedSources } from './reception.ts'

/**
 * A PUT may begin in the window's last second and still be under way when it ends, so an import expires this much later
 * (ms). An upload that takes even longer is still found: storage goes on being asked, ever less often, for a day.
 */
const uploadGrace = 60_000
const lateUploadWatch = 24 * 60 * 60_000

/** The next look at an upload that is late is after a quarter of the time that it is late; ms. */
const longestCheckPause = lateUploadWatch / 4

/** Imports looked at in one pass, and requests to storage at a time. */
const passSize = 500
const parallelRequests = 16

interface AwaitedUpload extends ImportId {
  objectKey: string
  line: number
  windowOver: boolean
}

/**
 * Asks storage for the uploads that are awaited: an import whose file is there is queued, one whose file never came
 * expires. Any number of processes may run this at once. Stops when the process shuts down; what is left is due again after
 * `UPLOAD_CHECK_INTERVAL`.
 *
 * Gives how many imports it queued and expired.
 */
export async function noticeUploads(context: ImportContext): Promise<{ queued: number; expired: number }> {
  const awaited = await takeDueChecks(context)
  // In line order, so that of two uploads noticed in one pass the later one never looks like the only one there.
  awaited.sort((a, b) => a.line - b.line)
  const noticed = { queued: 0, expired: 0 }
  for (let start = 0; start < awaited.length; start += parallelRequests) {
    if (context.shutdown?.aborted) return noticed
    const slice = awaited.slice(start, start + parallelRequests)
    const stats = await Promise.allSettled(slice.map((upload) => context.storage.stat(upload.objectKey)))
    for (const [index, upload] of slice.entries()) {
      const stat = stats[index]
      // One answer that storage owes holds up nobody else: this upload is asked for again.
      if (stat?.status !== 'fulfilled')
        context.log.warn({ import_id: upload.importId, err: stat?.reason }, 'upload not looked up')
      else if (stat.value !== undefined) noticed.queued += await queue(context, upload, stat.value)
      else if (upload.windowOver) noticed.expired += await expire(context, upload)
    }
  }
  noticed.expired += await expireOrphans(context)
  return noticed
}

/** Takes the imports whose upload is due to be asked for, and sets when each is due again. */
async function takeDueChecks({ db, settings }: ImportContext): Promise<AwaitedUpload[]> {
  const interval = settings.UPLOAD_CHECK_INTERVAL / 1000
  const checkAt = sql`upload_check_at`
  const isCheckDue = sql`
    (${isDue(checkAt, longestCheckPause)} or state = 'awaiting_upload' and ${isDue(checkAt, settings.UPLOAD_CHECK_INTERVAL)})`
  const graceOver = sql`i.upload_expires_at + make_interval(secs => ${uploadGrace / 1000})`
  const rows = await sql<{
    app_id: number
    import_id: string
    object_key: string
    sequence_number: number
    window_over: boolean
  }>`
    update imports i
    set upload_check_at = case
      when i.state = 'awaiting_upload' then now() + make_interval(secs => ${interval})
      when now() > i.upload_expires_at + make_interval(secs => ${lateUploadWatch / 1000}) then null
      else now() + greatest(make_interval(secs => ${interval}), (now() - i.upload_expires_at) / 4)
    end
    where (i.app_id, i.import_id) in (
      select app_id, import_id from imports
      where ${isCheckDue} and source <> all (${receivedSources}) order by upload_check_at limit ${passSize} for update skip locked
    )
    returning i.app_id, i.import_id, i.object_key, i.sequence_number,
      ${isDue(graceOver, limits.uploadWindow + uploadGrace)} as window_over
  `.execute(db)
  return rows.rows.map((row) => ({
    appId: row.app_id,
    importId: row.import_id,
    objectKey: row.object_key,
    line: row.sequence_number,
    windowOver: row.window_over,
  }))
}

/** Gives 1, or 0 where another process was faster. */
async function queue(
  { db, log }: ImportContext,
  { appId, importId }: AwaitedUpload,
  stored: { etag: string; byteSize: number },
): Promise<number> {
  const result = await db
    .updateTable('imports')
    .set({
      state: 'queued',
      queued_at: sql<Date>`now()`,
      finished_at: null,
      upload_check_at: null,
      etag: stored.etag,
      stored_size: stored.byteSize,
    })
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('state', 'in', ['awaiting_upload', 'expired'])
    .executeTakeFirst()
  if (result.numUpdatedRows > 0n)
    log.info({ app_id: appId, import_id: importId, byte_size: stored.byteSize }, 'upload noticed')
  return Number(result.numUpdatedRows)
}

/** Gives 1, or 0 where the import is not awaited any more. */
async function expire({ db, log }: ImportContext, { appId, importId }: ImportId): Promise<number> {
  const result = await db
    .updateTable('imports')
    .set({ state: 'expired', finished_at: sql<Date>`now()` })
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('state', '=', 'awaiting_upload')
    .executeTakeFirst()
  const expired = Number(result.numUpdatedRows)
  if (expired > 0)
    log.info({ app_id: appId, import_id: importId }, `no upload within ${limits.uploadWindow / 60_000} minutes`)
  return expired
}
