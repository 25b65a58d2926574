import { type ExportView, isUuid } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { exportFileUrl } from './link.ts'

/**
 * Returns an export of an app as the API shows it (second-day.md §3, Exports); undefined if there is none. Links begin
 * with `apiUrl`.
 */
export async function showExport(
  db: Database,
  apiUrl: string,
  appId: number,
  exportId: string,
): Promise<ExportView | undefined> {
  if (!isUuid(exportId)) return undefined
  const row = await selectExports(db, appId).where('export_id', '=', exportId).executeTakeFirst()
  return row && toView(row, apiUrl)
}

/**
 * Returns the exports of an app whose files have not been removed, newest request first, at most `limit`, as the API
 * shows them. Links begin with `apiUrl`.
 */
export async function listExports(db: Database, apiUrl: string, appId: number, limit: number): Promise<ExportView[]> {
  const rows = await selectExports(db, appId)
    .where('files_removed_at', 'is', null)
    .orderBy('requested_at', 'desc')
    .orderBy('export_id')
    .limit(limit)
    .execute()
  return rows.map((row) => toView(row, apiUrl))
}

function selectExports(db: Database, appId: number) {
  return db
    .selectFrom('exports')
    .select(['export_id', 'state', 'rows', 'bytes', 'error', 'requested_at', 'finished_at'])
    .select(['file_secret', 'files_removed_at'])
    .select(sql<boolean>`coalesce(file_expires_at > now(), false)`.as('is_linked'))
    .where('app_id', '=', appId)
}

type Row = Awaited<ReturnType<ReturnType<typeof selectExports>['executeTakeFirstOrThrow']>>

function toView(row: Row, apiUrl: string): ExportView {
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
