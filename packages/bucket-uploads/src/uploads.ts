import { gzipMagicBytes, isGzip } from '@sluice/csv'
import { type Database, type ImportContentType, type RawBuilder, sql, type UploadChecksum } from '@sluice/database'
import { queueStoredFile, sweepLater, uploadKey, withinWaitingLimit } from '@sluice/imports'
import type { Relay } from '@sluice/storage'
import type { BucketUploadContext } from './context.ts'
import { type DroppedFile, findImportedFile, isImportId } from './files.ts'
import { hashesOf, type UploadOrigin } from './upload-hash.ts'

/** A file on its way to the bucket. It lies under a key of its own, so that files of one name never touch each other. */
export interface Upload {
  appId: number
  /** The import's, once the file is one. */
  importId: string
  fileName: string
  objectKey: string
  /** Of an upload in parts; null where the file comes whole. */
  storageUploadId: string | null
  /** What the parts, and the whole, are to have; null if the upload names no algorithm. */
  checksum: UploadChecksum | null
  startedAt: Date
}

/**
 * Begins an upload: from here on its key in storage is known, and so is removed where nothing comes of it. `sentAt` is when its
 * sender began to send it, if that was before. Throws `TooManyWaiting`.
 */
export async function beginUpload(
  { db, settings }: Pick<BucketUploadContext, 'db' | 'settings'>,
  appId: number,
  fileName: string,
  sentAt?: Date,
): Promise<Upload> {
  const values = {
    app_id: appId,
    file_name: fileName,
    // A clock of storage that is ahead makes no file younger than it can be.
    ...(sentAt !== undefined && { sent_at: sql<Date>`least(now(), ${sentAt}::timestamptz)` }),
  }
  const row = await withinWaitingLimit(db, appId, settings.WAITING_IMPORTS_LIMIT, (tx) =>
    tx.insertInto('bucket_uploads').values(values).returningAll().executeTakeFirstOrThrow(),
  )
  return toUpload(row)
}

/** Begins an upload in parts. */
export async function beginUploadInParts(
  { db, relay, settings }: BucketUploadContext,
  appId: number,
  fileName: string,
  metadata: Parameters<Relay['beginParts']>[1],
  checksum: UploadChecksum | null = null,
): Promise<Upload> {
  const upload = await beginUpload({ db, settings }, appId, fileName)
  const storageUploadId = await relay.beginParts(upload.objectKey, metadata)
  await db
    .updateTable('bucket_uploads')
    .set({ storage_upload_id: storageUploadId, checksum: checksum && JSON.stringify(checksum) })
    .where('app_id', '=', appId)
    .where('import_id', '=', upload.importId)
    .execute()
  return { ...upload, storageUploadId, checksum }
}

/** Finds an upload in parts that is under way. The ID is untrusted text. */
export async function findUpload(
  db: Database,
  appId: number,
  fileName: string,
  importId: string,
): Promise<(Upload & { storageUploadId: string }) | undefined> {
  if (!isImportId(importId)) return undefined
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
 * Returns at most `limit` uploads in parts that an app has in flight, in the order of their names' bytes, then of their IDs.
 *
 * They lie behind `after`: their names are higher, or their IDs if it names one. Both are untrusted text.
 */
export async function listUploads(
  db: Database,
  appId: number,
  request: { namesBeginWith: string; after: { fileName: string; importId: string }; limit: number },
): Promise<Upload[]> {
  const { namesBeginWith, after, limit } = request
  const hasHigherId = sql<boolean>`${after.importId} <> '' and import_id::text collate "C" > ${after.importId}`
  const rows = await db
    .selectFrom('bucket_uploads')
    .selectAll()
    .where('app_id', '=', appId)
    .where('storage_upload_id', 'is not', null)
    .where(sql<boolean>`starts_with(file_name, ${namesBeginWith})`)
    .where(sql<boolean>`(file_name > ${after.fileName} or (file_name = ${after.fileName} and ${hasHigherId}))`)
    .orderBy('file_name')
    .orderBy('import_id')
    .limit(limit)
    .execute()
  return rows.map(toUpload)
}

/** A file that is complete. */
export interface FinishedFile extends DroppedFile {
  /** False if this call made no import: an earlier upload or completion did, or the file was refused. */
  isNew: boolean
}

/**
 * Makes an import of an upload that storage has whole: it gets its sequence number now, so that files are applied in the
 * order in which they were complete (design.md §3, Request order).
 *
 * Returns the file. If its origin must not be imported (again), the stored copy is removed. Returns undefined if the upload
 * is no longer in progress and has no import: nothing of it will be imported.
 */
export async function finishUpload(
  { db, relay }: Pick<BucketUploadContext, 'db' | 'relay'>,
  upload: Upload,
  origin: UploadOrigin,
): Promise<FinishedFile | undefined> {
  const { appId, importId, fileName, objectKey } = upload
  const stored = await relay.describe(objectKey)
  if (stored === undefined) return await findFinishedFile(db, upload)
  const contentType = await contentTypeOf(relay, upload)
  const { etag, byteSize } = stored
  const outcome = await db.transaction().execute(async (tx) => {
    const sentAt = await removeUpload(tx, upload)
    if (sentAt === undefined) return 'gone'
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
      sentAt,
    } as const
    if (hashes !== undefined && (await queueStoredFile(tx, { ...about, ...hashes }))) return 'queued'
    await sweepLater(tx, upload)
    return 'repeated'
  })
  if (outcome === 'gone') return await findFinishedFile(db, upload)
  // Nobody else knows of this copy.
  if (outcome === 'repeated') await relay.remove(objectKey)
  return { fileName, objectKey, etag, byteSize, modifiedAt: stored.modifiedAt, isNew: outcome === 'queued' }
}

/** Returns the file of an upload that another completion has made an import. */
async function findFinishedFile(
  db: Database,
  { appId, fileName, importId }: Upload,
): Promise<FinishedFile | undefined> {
  const file = await findImportedFile(db, appId, fileName, importId)
  return file && { ...file, isNew: false }
}

/**
 * Forgets an upload of which nothing comes, with what storage has of it, unless it has become an import. A completion of
 * the same moment finds it either there or gone.
 */
export async function forgetUpload(
  { db, relay }: Pick<BucketUploadContext, 'db' | 'relay'>,
  upload: Upload,
): Promise<void> {
  const { objectKey, storageUploadId } = upload
  await forgetWith(db, upload, async () => {
    if (storageUploadId !== null) await relay.abortParts(objectKey, storageUploadId)
    await relay.remove(objectKey)
  })
}

/** Forgets an upload after `removeStored` has removed what storage has of it; does nothing where it is an import. */
export async function forgetWith(db: Database, upload: Upload, removeStored: () => Promise<void>): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const row = await tx
      .selectFrom('bucket_uploads')
      .select('import_id')
      .where('app_id', '=', upload.appId)
      .where('import_id', '=', upload.importId)
      .forUpdate()
      .executeTakeFirst()
    if (row === undefined) return
    await removeStored()
    await removeUpload(tx, upload)
    // What is still on its way to storage may arrive there all the same.
    await sweepLater(tx, upload)
  })
}

/** What a file is: by its ending, else by its first bytes. */
async function contentTypeOf(relay: Relay, { fileName, objectKey }: Upload): Promise<ImportContentType> {
  if (/\.gz$/i.test(fileName)) return 'application/gzip'
  const start = await relay.readStart(objectKey, gzipMagicBytes)
  return isGzip(start) ? 'application/gzip' : 'text/csv'
}

/** Removes an upload's row. Returns when it was sent; undefined if it was not among them. */
async function removeUpload(db: Database, { appId, importId }: Upload): Promise<string | undefined> {
  const removed = await db
    .deleteFrom('bucket_uploads')
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .returning(sql<string>`sent_at::text`.as('sent_at'))
    .executeTakeFirst()
  return removed?.sent_at
}

/** Returns at most `limit` uploads, oldest first, to which `condition` applies. */
export async function uploadsWhere(db: Database, condition: RawBuilder<boolean>, limit: number): Promise<Upload[]> {
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
}): Upload {
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
