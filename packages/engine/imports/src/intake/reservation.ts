import type { FileOptions } from '@sluice/batches'
import { type Database, type ImportContentType, isDue, sql } from '@sluice/database'
import type { ImportContext, ImportId, RequestContext } from '../context.ts'
import { sweepLater } from '../file/file-sweeps.ts'
import { importPrefix, uploadKey } from '../file/object-keys.ts'
import { type GivenOptions, optionColumns, optionValues, toOptions } from '../options.ts'
import { enqueueImportEvent } from '../result/import-event.ts'
import { changeState, type FirstState, stateOf } from '../states.ts'
import { withinWaitingLimit } from './waiting-limit.ts'

/**
 * Sources of imports whose file comes in the body of a request, which streams it to storage. Maintenance does not ask
 * storage for these files.
 */
export const receivedSources = ['v2', 'dashboard'] as const

/** The services and settings that receiving a file needs if the file is not inspected. */
export type ReceiveFileContext = RequestContext & Pick<ImportContext, 'log'>

/** What is known of a file before its first byte. */
export interface ExpectedFile {
  source: (typeof receivedSources)[number]
  contentType: ImportContentType
  /** Longest time that the body may take. */
  longestMs: number
  /** Name that the sender uses for the file. */
  fileName?: string
  /** Who sends the file: the address of a person, or the name of a token. */
  requestedBy?: string
  dryRun?: boolean
  options?: GivenOptions
}

/** Time that a request may take in addition to the time for its body. */
const requestGraceMs = 60_000

/** Longest time from reserving to queueing. `API_UPLOAD_TIMEOUT` is a day at most. */
const longestReceptionMs = 24 * 60 * 60_000 + requestGraceMs

/**
 * Inserts an import whose file is about to come, and thereby reserves its place in the import order. Later imports wait
 * for it as for any upload (design.md §3, Request order).
 *
 * Returns the key for the file in storage, and the options with which the file is imported. Throws `TooManyWaiting`.
 */
export async function reserveImport(
  { db, settings }: Pick<RequestContext, 'db' | 'settings'>,
  { appId, importId }: ImportId,
  { source, contentType, longestMs, fileName, requestedBy, dryRun = false, options }: ExpectedFile,
): Promise<{ objectKey: string; options: FileOptions }> {
  const objectKey = uploadKey(appId, importId)
  const values = {
    app_id: appId,
    import_id: importId,
    source,
    state: 'awaiting_upload' satisfies FirstState,
    dry_run: dryRun,
    file_name: fileName ?? null,
    requested_by: requestedBy ?? null,
    ...optionValues(appId, options),
    object_key: objectKey,
    content_type: contentType,
    upload_expires_at: sql<Date>`now() + make_interval(secs => ${longestMs / 1000})`,
    upload_check_at: sql<Date>`now() + make_interval(secs => ${(longestMs + requestGraceMs) / 1000})`,
  } as const
  const row = await withinWaitingLimit(db, appId, settings.WAITING_IMPORTS_LIMIT, (tx) =>
    tx.insertInto('imports').values(values).returning(optionColumns).executeTakeFirstOrThrow(),
  )
  return { objectKey, options: toOptions(row) }
}

/**
 * Queues an import whose file is stored.
 *
 * Returns false if the import was cancelled meanwhile; maintenance removes the file then. Throws if the import has
 * expired.
 */
export async function queueImport(
  db: Database,
  { appId, importId }: ImportId,
  { byteSize, etag, contentType }: { byteSize: number; etag: string; contentType: ImportContentType },
): Promise<boolean> {
  const result = await changeState(db, ['awaiting_upload'], 'queued')
    .set({
      queued_at: sql<Date>`now()`,
      upload_check_at: null,
      byte_size: byteSize,
      etag,
      content_type: contentType,
    })
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirst()
  if (result.numUpdatedRows > 0n) return true
  if ((await stateOf(db, { appId, importId })) === 'cancelled') return false
  throw new Error(`import ${importId} expired while its file was received`)
}

/**
 * Removes an import whose file was refused or did not arrive whole. The import expires first, so that later imports do
 * not wait for it. Its files and its row follow. If a step fails, maintenance removes the files as for any expired
 * import.
 */
export async function discardImport(
  { db, storage, log }: ReceiveFileContext,
  { appId, importId }: ImportId,
): Promise<void> {
  try {
    const expired = await changeState(db, ['awaiting_upload'], 'expired')
      .set({ finished_at: sql<Date>`now()`, upload_check_at: null })
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .executeTakeFirst()
    if (expired.numUpdatedRows === 0n) return
    await storage.removeAll(importPrefix(appId, importId))
    await db.transaction().execute(async (tx) => {
      await tx.deleteFrom('imports').where('app_id', '=', appId).where('import_id', '=', importId).execute()
      // Storage may still process a request that this process has aborted.
      await sweepLater(tx, { appId, importId })
    })
  } catch (error) {
    log.warn({ err: error, app_id: appId, import_id: importId }, 'refused import not removed')
  }
}

/**
 * Expires imports whose process died before the request was answered. The client never learned of such an import, so a
 * file in storage does not count. Returns the number of imports.
 */
export async function expireOrphans({ db, log }: Pick<ImportContext, 'db' | 'log'>): Promise<number> {
  const orphans = await db.transaction().execute(async (tx) => {
    const expired = await changeState(tx, ['awaiting_upload'], 'expired')
      .set({ finished_at: sql<Date>`now()`, upload_check_at: null })
      .where(isDue(sql`upload_check_at`, longestReceptionMs))
      .where('source', 'in', receivedSources)
      .returning(['app_id', 'import_id'])
      .execute()
    for (const { app_id: appId, import_id: importId } of expired) {
      await enqueueImportEvent(tx, { appId, importId }, 'expired')
    }
    return expired
  })
  for (const orphan of orphans) log.info(orphan, 'request ended before its file was taken')
  return orphans.length
}
