import { changesFileColumns } from '@sluice/batches'
import { cellsOf, decompress, firstBytes, readRows } from '@sluice/csv'
import type { Database } from '@sluice/database'
import { ObjectGone, type Storage } from '@sluice/storage'
import type { ImportId } from '../context.ts'

/** A line of a changes file, as text. No value is an empty text. */
export interface ChangedValue {
  userId: string
  key: string
  before: string
  after: string
}

/** Maximum number of uncompressed bytes of a changes file that are read. */
const maxBytes = 2 ** 20

/** Returns the first `limit` lines of an import's changes file; none if there is no file, or if it was removed. */
export async function changedValues(
  { db, storage }: { db: Database; storage: Storage },
  { appId, importId }: ImportId,
  limit: number,
): Promise<ChangedValue[]> {
  const found = await db
    .selectFrom('imports')
    .select(['changes_file_key', 'files_removed_at'])
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirst()
  if (found?.changes_file_key == null || found.files_removed_at !== null) return []
  const values: ChangedValue[] = []
  try {
    const lines = decompress(await storage.read(found.changes_file_key), { gzip: true, limitBytes: maxBytes * 2 })
    for await (const block of readRows(firstBytes(lines, maxBytes), { columns: changesFileColumns.length }))
      for (const [row, end] of block.rowEnd.entries()) {
        if (values.length > limit || end >= maxBytes) return values.slice(1)
        const [userId = '', key = '', , before = '', after = ''] = cellsOf(block, row).map(String)
        values.push({ userId, key, before, after })
      }
  } catch (error) {
    if (!(error instanceof ObjectGone)) throw error
  }
  return values.slice(1)
}
