import type { Database } from '@sluice/database'
import type { BucketUpload } from './uploads.ts'

/** The names of a stored part: its MD5 in hex, by which its sender knows it, and storage's own ETag. */
export interface PartNames {
  md5: string
  etag: string
}

/**
 * Keeps the names of a part whose ETag in storage is not its MD5, as with SSE-KMS. S3 clients compare the answer's ETag
 * with the MD5 of what they sent, and some send a part again if the two differ.
 */
export async function keepPartNames(
  db: Database,
  { appId, importId }: BucketUpload,
  partNumber: number,
  names: PartNames,
): Promise<void> {
  await db
    .updateTable('bucket_upload_parts')
    .set(names)
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('part_number', '=', partNumber)
    .execute()
}

/** Returns the kept names of an upload's parts by their numbers. */
export async function keptPartNames(db: Database, { appId, importId }: BucketUpload): Promise<Map<number, PartNames>> {
  const rows = await db
    .selectFrom('bucket_upload_parts')
    .select(['part_number', 'md5', 'etag'])
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('etag', 'is not', null)
    .execute()
  return new Map(rows.map(({ part_number, md5, etag }) => [part_number, { md5: md5 ?? '', etag: etag ?? '' }]))
}
