import type { ValueType } from '@sluice/contract'
import { FileError } from '@sluice/csv'
import { type ImportContentType, sql } from '@sluice/database'
import { KeyLimitExceeded } from '@sluice/profiles'
import type { ImportContext, ImportId, ReceiveContext } from './context.ts'
import { inspectFile } from './inspect.ts'
import { importPrefix, uploadKey } from './object-keys.ts'

/** Beyond the longest that the body may take, what the request may take for the rest, ms. */
const requestGrace = 60_000

/** An import whose file came with its request. */
export interface ReceivedImport {
  importId: string
  /**
   * The type of each column that goes into profiles: the registered one, or the one inferred from the first rows. A
   * column without any value there counts as string here; its type is settled by the first batch that has one.
   */
  types: Map<string, ValueType>
}

/**
 * Takes a file in the body of a request (bulk import v2): the import has its place in the app's line when this begins,
 * and is queued when the file lies in storage and was found to be good. A file that is not leaves nothing behind.
 *
 * Takes the bytes as they come; they are streamed to storage. Gives the import, or the documented message of why the
 * file is refused. What reading the body throws passes through.
 */
export async function receiveImport(
  context: ReceiveContext,
  appId: number,
  contentType: ImportContentType,
  body: AsyncIterable<Buffer>,
): Promise<ReceivedImport | { refused: string }> {
  const id = { appId, importId: crypto.randomUUID() }
  const objectKey = uploadKey(appId, id.importId)
  await reserve(context, id, objectKey, contentType)
  try {
    await context.storage.writeStream(objectKey, body, contentType)
    const stored = await context.storage.stat(objectKey)
    if (stored === undefined) throw new Error(`${objectKey} was stored and is gone`)
    const { columns } = await inspectFile(context, { appId, objectKey, contentType, etag: stored.etag })
    if (!(await queue(context, id, stored))) return { refused: 'the import was cancelled' }
    return { importId: id.importId, types: new Map(columns.profiles.map(({ key, type }) => [key, type ?? 'string'])) }
  } catch (error) {
    await discard(context, id)
    if (error instanceof FileError || error instanceof KeyLimitExceeded) return { refused: error.message }
    throw error
  }
}

/** Gives the import its place in the line. Later imports wait for it as for any upload (design.md §3, Request order). */
async function reserve(
  { db, settings }: ReceiveContext,
  { appId, importId }: ImportId,
  objectKey: string,
  contentType: ImportContentType,
): Promise<void> {
  await db
    .insertInto('imports')
    .values({
      app_id: appId,
      import_id: importId,
      source: 'v2',
      state: 'awaiting_upload',
      object_key: objectKey,
      content_type: contentType,
      upload_expires_at: sql<Date>`now() + make_interval(secs => ${settings.API_UPLOAD_TIMEOUT / 1000})`,
      upload_check_at: sql<Date>`now() + make_interval(secs => ${(settings.API_UPLOAD_TIMEOUT + requestGrace) / 1000})`,
    })
    .execute()
}

/** Gives false where the import was cancelled while its file came; the file goes with upkeep. Throws where it had expired. */
async function queue(
  { db }: ReceiveContext,
  { appId, importId }: ImportId,
  { byteSize, etag }: { byteSize: number; etag: string },
): Promise<boolean> {
  const result = await db
    .updateTable('imports')
    .set({ state: 'queued', queued_at: sql<Date>`now()`, upload_check_at: null, byte_size: byteSize, etag })
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
async function discard({ db, storage, log }: ReceiveContext, { appId, importId }: ImportId): Promise<void> {
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
    await db.deleteFrom('imports').where('app_id', '=', appId).where('import_id', '=', importId).execute()
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
    .where('upload_check_at', '<=', sql<Date>`now()`)
    .where('source', '=', 'v2')
    .where('state', '=', 'awaiting_upload')
    .returning(['app_id', 'import_id'])
    .execute()
  for (const orphan of orphans) log.info(orphan, 'request ended before its file was taken')
  return orphans.length
}
