import { type ExportView, isUuid } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { exportFileUrl } from './link.ts'

/** Returns an export of an app as the API shows it; undefined if there is none. Links begin with `apiUrl`. */
export async function showExport(
  db: Database,
  apiUrl: string,
  appId: number,
  exportId: string,
): Promise<ExportView | undefined> {
  if (!isUuid(exportId)) return undefined
  const row = await db
    .selectFrom('exports')
    .select(['export_id', 'state', 'rows', 'bytes', 'error', 'requested_at', 'finished_at'])
    .select(['file_secret', 'files_removed_at'])
    .select(sql<boolean>`coalesce(file_expires_at > now(), false)`.as('is_linked'))
    .where('app_id', '=', appId)
    .where('export_id', '=', exportId)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const secret = row.is_linked && row.files_removed_at === null ? row.file_secret : null
  return {
    export_id: row.export_id,
    state: row.state,
    rows: row.rows,
    bytes: row.bytes,
    file_url: secret === null ? null : exportFileUrl(apiUrl, row.export_id, secret),
    error: row.error,
    requested_at: row.requested_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  }
}
