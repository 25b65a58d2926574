import { isUuid } from '@sluice/contract'
import { gzipMagicBytes, isGzip } from '@sluice/csv'
import { type Database, type ImportContentType, sql } from '@sluice/database'
import { ObjectGone, type Storage } from '@sluice/storage'

/** A file of the bucket that has become an import. */
export interface ImportedFile {
  fileName: string
  /** Key of the file's copy in storage, which the import reads. */
  objectKey: string
  /** ETag for the sender: the file's MD5 in hex if it is known, and otherwise storage's ETag in quotes. */
  etag: string
  byteSize: number
  modifiedAt: Date
}

/** File names are compared by their bytes, as S3 does. */
const nameBytes = sql<string>`file_name collate "C"`

/**
 * Looks up the latest file of a name. Returns undefined if no file has this name, or if the files of the latest import
 * were removed.
 */
export async function findFile(db: Database, appId: number, fileName: string): Promise<ImportedFile | undefined> {
  const row = await selectFiles(db, appId)
    .where(nameBytes, '=', fileName)
    .orderBy('sequence_number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? undefined : toFile(row)
}

/**
 * Looks up the file of an import. `importId` is untrusted text. Returns undefined unless the file has the name
 * `fileName`.
 */
export async function findImportedFile(
  db: Database,
  appId: number,
  fileName: string,
  importId: string,
): Promise<ImportedFile | undefined> {
  if (!isUuid(importId)) return undefined
  const row = await selectFiles(db, appId)
    .where(nameBytes, '=', fileName)
    .where('import_id', '=', importId)
    .executeTakeFirst()
  return row === undefined ? undefined : toFile(row)
}

/**
 * Lists an app's files by the bytes of their names, and of each name only the latest file.
 *
 * Returns at most `limit` files whose names begin with `namePrefix` and follow `after`.
 */
export async function listFiles(
  db: Database,
  appId: number,
  { namePrefix, after, limit }: { namePrefix: string; after: string; limit: number },
): Promise<ImportedFile[]> {
  const rows = await selectFiles(db, appId)
    .distinctOn(nameBytes)
    .where(sql<boolean>`starts_with(file_name, ${namePrefix})`)
    .where(nameBytes, '>', after)
    .orderBy(nameBytes)
    .orderBy('sequence_number', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toFile)
}

function selectFiles(db: Database, appId: number) {
  return db
    .selectFrom('imports')
    .select(['file_name', 'object_key', 'etag', 'checksum', 'byte_size', 'queued_at'])
    .where('app_id', '=', appId)
    .where('source', '=', 'bucket')
    .where('files_removed_at', 'is', null)
}

type Row = Awaited<ReturnType<ReturnType<typeof selectFiles>['execute']>>[number]

function toFile(row: Row): ImportedFile {
  return {
    fileName: row.file_name ?? '',
    objectKey: row.object_key,
    etag: row.checksum === null ? (row.etag ?? '') : Buffer.from(row.checksum, 'base64').toString('hex'),
    byteSize: row.byte_size ?? 0,
    modifiedAt: row.queued_at ?? new Date(0),
  }
}

/**
 * Returns the type of a file: gzip if its name ends in `.gz` or it begins like gzip, otherwise CSV. Undefined if the
 * file is gone.
 */
export async function contentTypeOf(
  storage: Storage,
  { fileName, objectKey }: { fileName: string; objectKey: string },
): Promise<ImportContentType | undefined> {
  if (/\.gz$/i.test(fileName)) return 'application/gzip'
  try {
    const start = Buffer.concat(await (await storage.read(objectKey, { count: gzipMagicBytes })).toArray())
    return isGzip(start) ? 'application/gzip' : 'text/csv'
  } catch (error) {
    if (error instanceof ObjectGone) return undefined
    throw error
  }
}
