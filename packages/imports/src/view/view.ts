import { type ImportListRequest, type ImportView, importCursor } from '@sluice/contract'
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

/**
 * Returns a page of an app's imports, newest request first, and the cursor of the next page; null if there is none.
 * Imports that are added later do not move the following pages.
 */
export async function pageOfImports(
  db: Database,
  apiUrl: string,
  appId: number,
  { state, source, limit, before }: ImportListRequest,
): Promise<{ imports: ImportView[]; nextCursor: string | null }> {
  const rows = await selectImports(db)
    .select('sequence_number')
    .where('app_id', '=', appId)
    .$if(state !== undefined, (query) => query.where('state', '=', state ?? 'queued'))
    .$if(source !== undefined, (query) => query.where('source', '=', source ?? 'v3'))
    .$if(before !== undefined, (query) => query.where('sequence_number', '<', before ?? 0))
    .orderBy('sequence_number', 'desc')
    .limit(limit + 1)
    .execute()
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    imports: page.map((row) => toView(row, apiUrl)),
    nextCursor: rows.length > limit && last !== undefined ? importCursor(last.sequence_number) : null,
  }
}

/** Selects the columns of a {@link ViewRow} from all imports. */
export function selectImports(db: Database) {
  return db
    .selectFrom('imports')
    .select(['import_id', 'state', 'source', 'file_name', 'dry_run', 'types', 'warnings', 'error'])
    .select([
      'retry_of',
      'rows_total',
      'rows_applied',
      'rows_failed',
      'rows_changed',
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
    rows_changed: row.rows_changed,
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
