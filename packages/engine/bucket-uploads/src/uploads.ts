import { isUuid } from '@sluice/contract'
import { type Database, type RawBuilder, sql, type UploadChecksum } from '@sluice/database'
import { queueStoredFile, sweepLater, uploadKey, withinWaitingLimit } from '@sluice/imports'
import type { Storage } from '@sluice/storage'
import type { UploadContext } from './context.ts'
import { contentTypeOf, findImportedFile, type ImportedFile } from './files.ts'
import { orderOfFile } from './order-of-file.ts'
import { hashesOf, type UploadOrigin } from './upload-hash.ts'

/** A bucket upload in flight. Its object has a key of its own, so files of the same name never replace each other. */
export interface BucketUpload {
  appId: number
  /** The ID that the import will have. */
  importId: string
  fileName: string
  objectKey: string
  /** Storage's ID of an upload in parts; null if the file is sent in one request. */
  storageUploadId: string | null
  /** The checksum that the parts and the object get; null if the sender named no algorithm. */
  checksum: UploadChecksum | null
  startedAt: Date
}

/**
 * Begins an upload. Its key in storage is recorded first, so that the object is removed if the upload never completes.
 *
 * `sentAt` is the time at which the sender began to send the file; now, if it is left out. Throws `TooManyWaiting` if
 * the app already has the maximum number of waiting imports.
 */
export async function beginUpload(
  { db, settings }: Pick<UploadContext, 'db' | 'settings'>,
  appId: number,
  fileName: string,
  sentAt?: Date,
): Promise<BucketUpload> {
  const values = {
    app_id: appId,
    file_name: fileName,
    // If storage's clock is ahead, `sentAt` may be in the future.
    ...(sentAt !== undefined && {
      sent_at: sql<Date>`least(now(), ${sentAt}::timestamptz)`,
      data_order: orderOfFile(appId, sentAt),
    }),
  }
  const row = await withinWaitingLimit(db, appId, settings.WAITING_IMPORTS_LIMIT, (tx) =>
    tx.insertInto('bucket_uploads').values(values).returningAll().executeTakeFirstOrThrow(),
  )
  return toUpload(row)
}

/**
 * Begins an upload in parts. Throws `TooManyWaiting` if the app already has the maximum number of waiting imports. If
 * storage does not begin it, the upload does not count any longer.
 */
export async function beginUploadInParts(
  context: UploadContext,
  appId: number,
  fileName: string,
  metadata: Parameters<Storage['beginParts']>[1],
  checksum: UploadChecksum | null = null,
): Promise<BucketUpload> {
  const upload = await beginUpload(context, appId, fileName)
  return await unlessBroken(context, upload, async () => {
    const storageUploadId = await context.storage.beginParts(upload.objectKey, metadata)
    await context.db
      .updateTable('bucket_uploads')
      .set({ storage_upload_id: storageUploadId, checksum: checksum && JSON.stringify(checksum) })
      .where('app_id', '=', appId)
      .where('import_id', '=', upload.importId)
      .execute()
    return { ...upload, storageUploadId, checksum }
  })
}

/** Returns the result of a step of an upload. If the step throws, the upload is forgotten first. */
export async function unlessBroken<Result>(
  context: Pick<UploadContext, 'db' | 'storage' | 'log'>,
  upload: BucketUpload,
  step: () => Promise<Result>,
): Promise<Result> {
  try {
    return await step()
  } catch (error) {
    await forgetUpload(context, upload).catch((failure: unknown) => {
      const { appId, importId } = upload
      context.log.warn({ app_id: appId, import_id: importId, err: failure }, 'broken upload not forgotten')
    })
    throw error
  }
}

/** Looks up an upload in parts that is in flight. `importId` is untrusted text. */
export async function findUpload(
  db: Database,
  appId: number,
  fileName: string,
  importId: string,
): Promise<(BucketUpload & { storageUploadId: string }) | undefined> {
  if (!isUuid(importId)) return undefined
  const row = await db
    .selectFrom('bucket_uploads')
    .selectAll()
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('file_name', '=', fileName)
    .executeTakeFirst()
  const { storage_upload_id: storageUploadId = null } = row ?? {}
  return row === undefined || storageUploadId === null ? undefined : { ...toUpload(row), storageUploadId }
}

/**
 * Lists an app's uploads in parts that are in flight, ordered by the bytes of their names, then by their IDs.
 *
 * Returns at most `limit` uploads that follow `after`. An upload with the same name as `after` follows only if `after`
 * has an ID and the upload's ID is higher. Name and ID are untrusted text.
 */
export async function listUploads(
  db: Database,
  appId: number,
  request: { namePrefix: string; after: { fileName: string; importId: string }; limit: number },
): Promise<BucketUpload[]> {
  const { namePrefix, after, limit } = request
  const hasHigherId = sql<boolean>`${after.importId} <> '' and import_id::text collate "C" > ${after.importId}`
  const rows = await db
    .selectFrom('bucket_uploads')
    .selectAll()
    .where('app_id', '=', appId)
    .where('storage_upload_id', 'is not', null)
    .where(sql<boolean>`starts_with(file_name, ${namePrefix})`)
    .where(sql<boolean>`(file_name > ${after.fileName} or (file_name = ${after.fileName} and ${hasHigherId}))`)
    .orderBy('file_name')
    .orderBy('import_id')
    .limit(limit)
    .execute()
  return rows.map(toUpload)
}

/** The file of a completed upload. */
export interface FinishedFile extends ImportedFile {
  /** False if this call queued no import: an earlier upload or completion did so, or the file was refused. */
  isNew: boolean
}

/**
 * Queues the import of an upload of which storage has the whole file. The import gets its sequence number now, so files
 * are imported in the order in which they were complete (design.md §3, Request order).
 *
 * Returns the file. Removes the stored copy if the file must not be imported, or was imported before. Returns undefined
 * if the upload has ended without an import.
 */
export async function finishUpload(
  context: Pick<UploadContext, 'db' | 'storage' | 'log'>,
  upload: BucketUpload,
  origin: UploadOrigin,
): Promise<FinishedFile | undefined> {
  const { db, storage } = context
  const { appId, importId, fileName, objectKey } = upload
  const stored = await storage.stat(objectKey)
  if (stored === undefined) return await findFinishedFile(db, upload)
  const contentType = await contentTypeOf(storage, upload)
  // Another request has just aborted the upload.
  if (contentType === undefined) return await findFinishedFile(db, upload)
  const { etag, byteSize } = stored
  const outcome = await db.transaction().execute(async (tx) => {
    const sent = await removeUpload(tx, upload)
    if (sent === undefined) return 'gone'
    const hashes = await hashesOf(tx, appId, origin)
    const about = {
      appId,
      importId,
      source: 'bucket',
      objectKey,
      contentType,
      etag,
      byteSize,
      fileName,
      requestedBy: origin.accessKeyId && `access key ${origin.accessKeyId}`,
      ...sent,
    } as const
    if (hashes !== undefined && (await queueStoredFile(tx, { ...about, ...hashes }))) return 'queued'
    await sweepLater(tx, upload)
    return 'repeated'
  })
  if (outcome === 'gone') return await findFinishedFile(db, upload)
  // No import refers to this copy.
  if (outcome === 'repeated') await removeOrSweep(context, upload, () => storage.remove(objectKey))
  return { fileName, objectKey, etag, byteSize, modifiedAt: stored.modifiedAt, isNew: outcome === 'queued' }
}

/** Returns the file of an upload whose import another call of `finishUpload` has queued. */
async function findFinishedFile(
  db: Database,
  { appId, fileName, importId }: BucketUpload,
): Promise<FinishedFile | undefined> {
  const file = await findImportedFile(db, appId, fileName, importId)
  return file && { ...file, isNew: false }
}

/**
 * Deletes an upload and everything that storage has of it, unless it has become an import. Succeeds even if storage
 * does not answer: the upload no longer counts as waiting, and its bytes are swept later.
 */
export async function forgetUpload(
  context: Pick<UploadContext, 'db' | 'storage' | 'log'>,
  upload: BucketUpload,
): Promise<void> {
  const { storage } = context
  const { objectKey, storageUploadId } = upload
  if (!(await forgetRow(context.db, upload))) return
  await removeOrSweep(context, upload, async () => {
    if (storageUploadId !== null) await storage.abortParts(objectKey, storageUploadId)
    await storage.remove(objectKey)
  })
}

/**
 * Replaces the row of an upload by a sweep of its bytes. The sweep also removes what a request to storage that is still
 * in flight stores later. A concurrent completion finds the upload either intact or gone.
 *
 * Returns false if there is no such upload: it was forgotten, or has become an import.
 */
export async function forgetRow(db: Database, upload: BucketUpload): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    if ((await removeUpload(tx, upload)) === undefined) return false
    await sweepLater(tx, upload)
    return true
  })
}

/** Removes the bytes of an upload that await a sweep. If that fails, they stay until the sweep. */
async function removeOrSweep(
  { log }: Pick<UploadContext, 'log'>,
  { appId, importId }: BucketUpload,
  removeStored: () => Promise<void>,
): Promise<void> {
  await removeStored().catch((error: unknown) => {
    log.warn({ app_id: appId, import_id: importId, err: error }, 'bytes of an upload not removed before their sweep')
  })
}

/** Deletes an upload's row. Returns when the file was sent, or undefined if there is no row. */
async function removeUpload(
  db: Database,
  { appId, importId }: BucketUpload,
): Promise<{ sentAt: string; dataOrder: number } | undefined> {
  return await db
    .deleteFrom('bucket_uploads')
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .returning([sql<string>`sent_at::text`.as('sentAt'), 'data_order as dataOrder'])
    .executeTakeFirst()
}

/** Returns at most `limit` uploads for which `condition` holds, oldest first. */
export async function uploadsWhere(
  db: Database,
  condition: RawBuilder<boolean>,
  limit: number,
): Promise<BucketUpload[]> {
  const rows = await db
    .selectFrom('bucket_uploads')
    .selectAll()
    .where(condition)
    .orderBy('started_at')
    .limit(limit)
    .execute()
  return rows.map(toUpload)
}

function toUpload(row: {
  app_id: number
  import_id: string
  file_name: string
  storage_upload_id: string | null
  checksum: UploadChecksum | null
  started_at: Date
}): BucketUpload {
  return {
    appId: row.app_id,
    importId: row.import_id,
    fileName: row.file_name,
    objectKey: uploadKey(row.app_id, row.import_id),
    storageUploadId: row.storage_upload_id,
    checksum: row.checksum,
    startedAt: row.started_at,
  }
}
