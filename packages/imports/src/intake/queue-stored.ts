import { type Database, type ImportContentType, type ImportSource, sql } from '@sluice/database'
import type { StoredFile } from '../context.ts'

/** A file that lies in storage, whole, and is to become an import. */
export interface QueuedFile extends StoredFile {
  source: ImportSource
  contentType: ImportContentType
  etag: string
  byteSize: number
  fileName: string
  /** When its sender began to send it, as Postgres writes it. */
  sentAt: string
  /** What must not become a second import: a file with the hash of an earlier one is not queued. */
  uploadHash: Buffer | null
  /** Of the signature of the request that brought the file. */
  signatureHash: Buffer | null
}

/** Puts a stored file at the end of its app's line. Gives false where it became an import before. */
export async function queueStoredFile(db: Database, file: QueuedFile): Promise<boolean> {
  const queued = await db
    .insertInto('imports')
    .values({
      app_id: file.appId,
      import_id: file.importId,
      source: file.source,
      state: 'queued',
      object_key: file.objectKey,
      content_type: file.contentType,
      byte_size: file.byteSize,
      etag: file.etag,
      file_name: file.fileName,
      upload_hash: file.uploadHash,
      signature_hash: file.signatureHash,
      checksum: file.checksum,
      requested_at: sql<Date>`${file.sentAt}::timestamptz`,
      queued_at: sql<Date>`now()`,
    })
    .onConflict((conflict) =>
      conflict.columns(['app_id', 'upload_hash']).where('upload_hash', 'is not', null).doNothing(),
    )
    .executeTakeFirst()
  return Number(queued.numInsertedOrUpdatedRows) > 0
}
