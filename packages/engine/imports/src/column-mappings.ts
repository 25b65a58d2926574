import { createHash } from 'node:crypto'
import type { MappedColumn } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'

/** Maximum number of mappings that are kept for an app. Beyond it, a new mapping replaces the oldest one. */
const mappingsPerApp = 50

/** A mapping, and when it was saved. */
export interface KeptMapping {
  mapping: MappedColumn[]
  keptAt: Date
}

/**
 * Saves a mapping: what becomes of each column of a file. The app's next file with the same set of column names can use
 * it. Replaces an earlier mapping of these columns.
 */
export async function keepColumnMapping(
  db: Database,
  appId: number,
  columns: readonly string[],
  mapping: readonly MappedColumn[],
): Promise<void> {
  const kept = { mapping: JSON.stringify(mapping), kept_at: sql<string>`now()` }
  await db.transaction().execute(async (tx) => {
    // Locks the app, so that its mappings are saved one after another. Two transactions at once would not see each
    // other's mapping when they count, and could exceed the maximum.
    await tx.selectFrom('apps').select('app_id').where('app_id', '=', appId).forUpdate().execute()
    await tx
      .insertInto('column_mappings')
      .values({ app_id: appId, columns_hash: hashOf(columns), ...kept })
      .onConflict((conflict) => conflict.columns(['app_id', 'columns_hash']).doUpdateSet(kept))
      .execute()
    await tx
      .deleteFrom('column_mappings')
      .where('app_id', '=', appId)
      .where('columns_hash', 'in', (query) =>
        query
          .selectFrom('column_mappings as older')
          .select('older.columns_hash')
          .where('older.app_id', '=', appId)
          .orderBy('older.kept_at', 'desc')
          .orderBy('older.columns_hash')
          .offset(mappingsPerApp),
      )
      .execute()
  })
}

/** Returns the saved mapping for files with these columns in any order; undefined if there is none. */
export async function findColumnMapping(
  db: Database,
  appId: number,
  columns: readonly string[],
): Promise<KeptMapping | undefined> {
  const found = await db
    .selectFrom('column_mappings')
    .select(['mapping', 'kept_at'])
    .where('app_id', '=', appId)
    .where('columns_hash', '=', hashOf(columns))
    .executeTakeFirst()
  return found === undefined ? undefined : { mapping: found.mapping, keptAt: found.kept_at }
}

/** Deletes the saved mapping for files with these columns. Returns false if there is none. */
export async function forgetColumnMapping(db: Database, appId: number, columns: readonly string[]): Promise<boolean> {
  const forgotten = await db
    .deleteFrom('column_mappings')
    .where('app_id', '=', appId)
    .where('columns_hash', '=', hashOf(columns))
    .executeTakeFirst()
  return forgotten.numDeletedRows > 0n
}

/** Returns the hash of a set of column names. An index entry has no room for all names of a wide file. */
function hashOf(columns: readonly string[]): Buffer {
  const names = [...new Set(columns)].sort()
  return createHash('sha256').update(JSON.stringify(names)).digest()
}
