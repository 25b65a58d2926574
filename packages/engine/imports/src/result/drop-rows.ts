import { type Database, sql } from '@sluice/database'
import type { ImportId } from '../context.ts'

/**
 * Whether a deletion completed since the data of import `i` was sent, and was not applied to the rows that the import
 * keeps for its files. These may then name deleted users.
 */
export const hasRowsToDrop = sql<boolean>`exists (
  select from recently_deleted_users d
  where d.app_id = i.app_id and d.data_order > greatest(i.data_order, i.deletions_applied_until)
)`

/**
 * Drops the rows that an app's unfinished imports keep for their files, if {@link hasRowsToDrop}. Later batches keep no
 * row of the deleted users. A changes file without its first rows would be of no use, so none is made.
 *
 * Must run in a transaction that blocks other deletions of the app (service.md, States and transitions).
 */
export async function dropErrorRows(tx: Database, appId: number): Promise<void> {
  // A worker that is storing the error file finds another `deletions_applied_until`, and stores the file again. The
  // number also keeps a repeated call from dropping newer rows.
  const { rows } = await sql<{ import_id: string }>`
    update imports i set deletions_applied_until = nextval('data_order'),
      changes_file_ends_before_row = case when keep_changes then 1 end
    where i.app_id = ${appId} and (i.state in ('queued', 'processing') or i.state = 'cancelled' and i.report_due)
      and exists (select from import_chunks c where c.app_id = i.app_id and c.import_id = i.import_id)
      and ${hasRowsToDrop}
    returning i.import_id
  `.execute(tx)
  for (const { import_id: importId } of rows) await removeChunks(tx, { appId, importId })
}

/** Removes all rows that an import keeps for its files. */
export async function removeChunks(tx: Database, { appId, importId }: ImportId): Promise<void> {
  await tx.deleteFrom('import_chunks').where('app_id', '=', appId).where('import_id', '=', importId).execute()
}
