import type { ImportSource } from '@sluice/contract'
import { type Database, type ImportContentType, sql } from '@sluice/database'
import type { StoredFile } from '../context.ts'
import { optionValues } from '../options.ts'
import type { FirstState } from '../states.ts'

/** A complete file in storage that becomes an import. */
export interface QueuedFile extends StoredFile {
  source: ImportSource
  contentType: ImportContentType
  etag: string
  byteSize: number
  fileName: string
  /** Who sent the file, as pages show it; undefined if nobody knows. */
  requestedBy?: string | undefined
  /** When the sender began to send the file, as Postgres writes a time. */
  sentAt: string
  dataOrder: number
  /**
   * Hash of the upload, if repeating the upload must not make a second import. Of several files with one hash, only the
   * first is queued.
   */
  uploadHash: Buffer | null
  /** Hash of the signature of the request that uploaded the file. */
  signatureHash: Buffer | null
}

/**
 * Inserts a queued import for a stored file, last in its app's import order. Returns false if the file already is an
 * import.
 */
export async function queueStoredFile(db: Database, file: QueuedFile): Promise<boolean> {
  const queued = await db
    .insertInto('imports')
    .values({
      app_id: file.appId,
      import_id: file.importId,
      source: file.source,
      state: 'queued' satisfies FirstState,
      object_key: file.objectKey,
      content_type: file.contentType,
      byte_size: file.byteSize,
      etag: file.etag,
      file_name: file.fileName,
      requested_by: file.requestedBy ?? null,
      ...optionValues(file.appId),
      upload_hash: file.uploadHash,
      signature_hash: file.signatureHash,
      checksum: file.checksum,
      requested_at: sql<Date>`${file.sentAt}::timestamptz`,
      data_order: file.dataOrder,
      queued_at: sql<Date>`now()`,
    })
    .onConflict((conflict) =>
      conflict.columns(['app_id', 'upload_hash']).where('upload_hash', 'is not', null).doNothing(),
    )
    .executeTakeFirst()
  return Number(queued.numInsertedOrUpdatedRows) > 0
}
