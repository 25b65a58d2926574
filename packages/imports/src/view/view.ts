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

/** Looks up imports as {@link showImport} does. Returns the views in the order of the IDs. */
export async function showImports(
  db: Database,
  apiUrl: string | undefined,
  importIds: readonly string[],
): Promise<ImportView[]> {
  if (importIds.length === 0) return []
  const rows = await selectImports(db).where('import_id', 'in', importIds).execute()
  const found = new Map(rows.map((row) => [row.import_id, row]))
  return importIds.flatMap((id) => found.get(id) ?? []).map((row) => toView(row, apiUrl))
}

/**
 * Maximum number of bytes of types and warnings in a page, about. For 100 imports with 50,000 columns each, they would
 * be 42 MB. One import may exceed the limit.
 */
const pageBytes = 2 ** 20

/**
 * Returns a page of an app's imports, newest request first, and the cursor of the next page; null if there is none.
 * Imports that are added later do not move the following pages. A page has fewer imports if their views are large.
 */
export async function pageOfImports(
  db: Database,
  apiUrl: string | undefined,
  appId: number,
  { state, source, limit, before }: ImportListRequest,
): Promise<{ imports: ImportView[]; nextCursor: string | null }> {
  const found = await db
    .selectFrom('imports')
    .select(['import_id', 'sequence_number'])
    // The stored size is known without reading the values. Compression makes them about eight times smaller.
    .select(sql<number>`8 * (pg_column_size(types) + pg_column_size(warnings))`.as('bytes'))
    .where('app_id', '=', appId)
    .$if(state !== undefined, (query) => query.where('state', '=', state ?? 'queued'))
    .$if(source !== undefined, (query) => query.where('source', '=', source ?? 'v3'))
    .$if(before !== undefined, (query) => query.where('sequence_number', '<', before ?? 0))
    .orderBy('sequence_number', 'desc')
    .limit(limit + 1)
    .execute()
  let bytes = 0
  const page = found.slice(0, limit).filter((row, index) => {
    bytes += row.bytes
    return index === 0 || bytes <= pageBytes
  })
  const last = page.at(-1)
  const isCut = last !== undefined && found.length > page.length
  return {
    imports: await showImports(
      db,
      apiUrl,
      page.map((row) => row.import_id),
    ),
    nextCursor: isCut ? importCursor(last.sequence_number) : null,
  }
}

/** Selects the columns of a {@link ViewRow} from all imports. */
export function selectImports(db: Database) {
  return selectSummaries(db).select(['types', 'warnings'])
}

/** Selects the columns of a {@link SummaryRow} from all imports. Their size does not depend on the file. */
export function selectSummaries(db: Database) {
  return db
    .selectFrom('imports')
    .select(['import_id', 'state', 'source', 'file_name', 'dry_run', 'error'])
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
type SummaryRow = Awaited<ReturnType<ReturnType<typeof selectSummaries>['execute']>>[number]

/** An import as lists for people show it. */
export type ImportSummary = Omit<ImportView, 'types' | 'warnings'>

/** Returns an import's row as the API shows it. Links to error files begin with `apiUrl`. */
export function toView(row: ViewRow, apiUrl: string | undefined): ImportView {
  return { ...toSummary(row, apiUrl), types: row.types, warnings: row.warnings }
}

export function toSummary(row: SummaryRow, apiUrl: string | undefined): ImportSummary {
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
    requested_at: row.requested_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
  }
}
