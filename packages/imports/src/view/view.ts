import type { ImportView } from '@sluice/contract'
import { type Database, isPaused, sql } from '@sluice/database'
import { isImportId } from '../context.ts'
import { errorFileUrl } from '../result/error-link.ts'
import { unfinishedStates } from '../states.ts'

/**
 * Looks up an import as the API and the command line show it.
 *
 * Accepts the URL that links to error files begin with; without it there are no links. Accepts the app that the import
 * must belong to, if any. Returns undefined if there is no such import.
 */
export async function showImport(
  db: Database,
  apiUrl: string | undefined,
  importId: string,
  appId?: number,
): Promise<ImportView | undefined> {
  if (!isImportId(importId)) return undefined
  const row = await selectImports(db)
    .where('import_id', '=', importId)
    .$if(appId !== undefined, (query) => query.where('app_id', '=', appId ?? 0))
    .executeTakeFirst()
  return row === undefined ? undefined : toView(row, apiUrl)
}

/** Returns the ID of the app that an import belongs to; undefined if there is no such import. */
export async function findAppOfImport(db: Database, importId: string): Promise<number | undefined> {
  if (!isImportId(importId)) return undefined
  const found = await db.selectFrom('imports').select('app_id').where('import_id', '=', importId).executeTakeFirst()
  return found?.app_id
}

/** Lists at most `limit` of an app's imports, newest request first. */
export async function listImports(
  db: Database,
  apiUrl: string | undefined,
  appId: number,
  limit: number,
): Promise<ImportView[]> {
  const rows = await selectImports(db)
    .where('app_id', '=', appId)
    .orderBy('sequence_number', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => toView(row, apiUrl))
}

/** Selects the columns of a {@link ViewRow} from all imports. */
export function selectImports(db: Database) {
  return db
    .selectFrom('imports')
    .select([
      'import_id',
      'state',
      'source',
      'dry_run',
      'retry_of',
      'rows_total',
      'rows_applied',
      'rows_failed',
      'error',
      'types',
      'warnings',
    ])
    .select([
      'file_name',
      'error_file_secret',
      sql<boolean>`(state in ${unfinishedStates} and ${isPaused(sql`imports.app_id`)})`.as('paused'),
      'error_file_ends_before_row',
      'files_removed_at',
      'requested_at',
      'started_at',
      'finished_at',
    ])
}

export type ViewRow = Awaited<ReturnType<ReturnType<typeof selectImports>['execute']>>[number]

/** Returns an import's row as the API shows it. Links to error files begin with `apiUrl`. */
export function toView(row: ViewRow, apiUrl: string | undefined): ImportView {
  const linked = row.error_file_secret !== null && row.files_removed_at === null && apiUrl !== undefined
  return {
    import_id: row.import_id,
    state: row.state,
    source: row.source,
    file_name: row.file_name,
    ...(row.dry_run && { dry_run: true }),
    ...(row.retry_of !== null && { retry_of: row.retry_of }),
    ...(row.paused && { paused: true }),
    rows_total: row.rows_total,
    rows_applied: row.rows_applied,
    rows_failed: row.rows_failed,
    error: row.error,
    error_file_url: linked ? errorFileUrl(apiUrl, row.import_id, row.error_file_secret ?? '') : null,
    ...(row.error_file_ends_before_row !== null && { error_file_ends_before_row: row.error_file_ends_before_row }),
    types: row.types,
    warnings: row.warnings,
    requested_at: row.requested_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
  }
}
