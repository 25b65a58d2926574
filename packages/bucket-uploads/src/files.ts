import { type Database, sql } from '@sluice/database'

/** A file that has become an import. */
export interface DroppedFile {
  fileName: string
  /** Where it lies in storage. */
  objectKey: string
  /** As storage gives it, with its quotes. */
  etag: string
  byteSize: number
  modifiedAt: Date
}

/** File names are compared by their bytes, as S3 does. */
const nameBytes = sql<string>`file_name collate "C"`

/** Gives the latest file of a name, as long as its import's files are kept. */
export async function findFile(db: Database, appId: number, fileName: string): Promise<DroppedFile | undefined> {
  const row = await selectFiles(db, appId)
    .where(nameBytes, '=', fileName)
    .orderBy('sequence_number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? undefined : toFile(row)
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether a text has the form of an import's ID. */
export function isImportId(text: string): boolean {
  return uuid.test(text)
}

/** Gives the file of an import, where it is one of that name. The ID is untrusted text. */
export async function findImportedFile(
  db: Database,
  appId: number,
  fileName: string,
  importId: string,
): Promise<DroppedFile | undefined> {
  if (!isImportId(importId)) return undefined
  const row = await selectFiles(db, appId)
    .where(nameBytes, '=', fileName)
    .where('import_id', '=', importId)
    .executeTakeFirst()
  return row === undefined ? undefined : toFile(row)
}

/** Gives at most `limit` files whose names lie behind `after`, the latest of each name, in the order of the names' bytes. */
export async function listFiles(
  db: Database,
  appId: number,
  { namesBeginWith, after, limit }: { namesBeginWith: string; after: string; limit: number },
): Promise<DroppedFile[]> {
  const rows = await selectFiles(db, appId)
    .distinctOn(nameBytes)
    .where(sql<boolean>`starts_with(file_name, ${namesBeginWith})`)
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
    .select(['file_name', 'object_key', 'etag', 'byte_size', 'queued_at'])
    .where('app_id', '=', appId)
    .where('source', '=', 'bucket')
    .where('files_removed_at', 'is', null)
}

type Row = Awaited<ReturnType<ReturnType<typeof selectFiles>['execute']>>[number]

function toFile(row: Row): DroppedFile {
  return {
    fileName: row.file_name ?? '',
    objectKey: row.object_key,
    etag: row.etag ?? '',
    byteSize: row.byte_size ?? 0,
    modifiedAt: row.queued_at ?? new Date(0),
  }
}
