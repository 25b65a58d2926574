import { type Database, sql } from '@sluice/database'

/** A deletion completed since an import `i` was sent, or since its rows were dropped last: its kept rows may name the deleted. */
export const hasRowsToDrop = sql<boolean>`exists (
  select from recently_deleted_users d
  where d.app_id = i.app_id and d.deleted_at > greatest(i.requested_at, i.error_rows_since)
)`

/**
 * Drops the rows that an app's unfinished imports have kept for their error files, if a deletion completed since the imports were
 * sent: the rows may name its users. Batches that follow keep no row of these users.
 *
 * Runs in a transaction that keeps further deletions of the app out.
 */
export async function dropErrorRows(tx: Database, appId: number): Promise<void> {
  // `error_rows_since` tells whoever is storing the error file, and keeps a repetition from dropping what has come since.
  const { rows } = await sql<{ import_id: string }>`
    update imports i set error_rows_since = clock_timestamp()
    where i.app_id = ${appId} and (i.state in ('queued', 'processing') or i.state = 'cancelled' and i.report_due)
      and exists (select from import_error_chunks c where c.app_id = i.app_id and c.import_id = i.import_id)
      and ${hasRowsToDrop}
    returning i.import_id
  `.execute(tx)
  for (const { import_id: importId } of rows) {
    await tx.deleteFrom('import_error_chunks').where('app_id', '=', appId).where('import_id', '=', importId).execute()
  }
}
