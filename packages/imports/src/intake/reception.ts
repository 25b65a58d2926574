import { type Database, type ImportContentType, isDue, sql } from '@sluice/database'
import type { ImportContext, ImportId, RequestContext } from '../context.ts'
import { sweepLater } from '../file/file-sweeps.ts'
import { importPrefix, uploadKey } from '../file/object-keys.ts'
import { withinWaitingLimit } from './waiting-limit.ts'

/** Imports whose file comes in the body of a request, which streams it to storage: nobody has to ask storage for it. */
export const receivedSources = ['v2', 'dashboard'] as const

/** What a reception needs. */
export type ReceptionContext = RequestContext & Pick<ImportContext, 'log'>

/** A file that is about to come. */
export interface ExpectedFile {
  source: (typeof receivedSources)[number]
  contentType: ImportContentType
  /** How long its body may take, ms. */
  longest: number
  /** What its owner calls it. */
  fileName?: string
  dryRun?: boolean
}

/** Beyond the longest that the body may take, what the request may take for the rest, ms. */
const requestGrace = 60_000

/** `API_UPLOAD_TIMEOUT` is a day at most, ms. */
const longestReception = 24 * 60 * 60_000 + requestGrace

/**
 * Gives the import its place in the line. Later imports wait for it as for any upload (design.md §3, Request order).
 * Returns the key under which its file is to be stored. Throws `TooManyWaiting`.
 */
export async function reserveReception(
  { db, settings }: Pick<RequestContext, 'db' | 'settings'>,
  { appId, importId }: ImportId,
  { source, contentType, longest, fileName, dryRun = false }: ExpectedFile,
): Promise<string> {
  const objectKey = uploadKey(appId, importId)
  const values = {
    app_id: appId,
    import_id: importId,
    source,
    state: 'awaiting_upload',
    dry_run: dryRun,
    file_name: fileName ?? null,
    object_key: objectKey,
    content_type: contentType,
    upload_expires_at: sql<Date>`now() + make_interval(secs => ${longest / 1000})`,
    upload_check_at: sql<Date>`now() + make_interval(secs => ${(longest + requestGrace) / 1000})`,
  } as const
  await withinWaitingLimit(db, appId, settings.WAITING_IMPORTS_LIMIT, (tx) =>
    tx.insertInto('imports').values(values).execute(),
  )
  return objectKey
}

/** Gives false where the import was cancelled while its file came; the file goes with maintenance. Throws where it had expired. */
export async function queueReception(
  db: Database,
  { appId, importId }: ImportId,
  { byteSize, etag, contentType }: { byteSize: number; etag: string; contentType?: ImportContentType },
): Promise<boolean> {
  const result = await db
    .updateTable('imports')
    .set({
      state: 'queued',
      queued_at: sql<Date>`now()`,
      upload_check_at: null,
      byte_size: byteSize,
      etag,
      ...(contentType !== undefined && { content_type: contentType }),
    })
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('state', '=', 'awaiting_upload')
    .executeTakeFirst()
  if (result.numUpdatedRows > 0n) return true
  const found = await db
    .selectFrom('imports')
    .select('state')
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirst()
  if (found?.state === 'cancelled') return false
  throw new Error(`import ${importId} expired while its file was received`)
}

/**
 * Removes an import that came to nothing, first out of the line, then from storage, then altogether. Where that fails
 * half-way, it is left expired, and its file is removed like that of any expired import.
 */
export async function discardReception(
  { db, storage, log }: ReceptionContext,
  { appId, importId }: ImportId,
): Promise<void> {
  try {
    const expired = await db
      .updateTable('imports')
      .set({ state: 'expired', finished_at: sql<Date>`now()`, upload_check_at: null })
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .where('state', '=', 'awaiting_upload')
      .executeTakeFirst()
    if (expired.numUpdatedRows === 0n) return
    await storage.removeAll(importPrefix(appId, importId))
    await db.transaction().execute(async (tx) => {
      await tx.deleteFrom('imports').where('app_id', '=', appId).where('import_id', '=', importId).execute()
      // Storage may still be busy with a request that this process has given up.
      await sweepLater(tx, { appId, importId })
    })
  } catch (error) {
    log.warn({ err: error, app_id: appId, import_id: importId }, 'refused import not removed')
  }
}

/**
 * Expires imports whose request died with its process before the file was taken: the client was never told of them, so
 * a file that lies in storage does not count. Gives how many they were.
 */
export async function expireOrphans({ db, log }: Pick<ImportContext, 'db' | 'log'>): Promise<number> {
  const orphans = await db
    .updateTable('imports')
    .set({ state: 'expired', finished_at: sql<Date>`now()`, upload_check_at: null })
    .where(isDue(sql`upload_check_at`, longestReception))
    .where('source', 'in', receivedSources)
    .where('state', '=', 'awaiting_upload')
    .returning(['app_id', 'import_id'])
    .execute()
  for (const orphan of orphans) log.info(orphan, 'request ended before its file was taken')
  return orphans.length
}
