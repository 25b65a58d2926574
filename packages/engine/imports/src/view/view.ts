import { type ImportChanges, type ImportListRequest, type ImportView, importCursor, isUuid } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import type { OwnerApp } from '../context.ts'
import { isPaused } from '../order/pause.ts'
import type { ChunkFile } from '../result/chunks.ts'
import { fileUrl } from '../result/file-link.ts'
import { unfinishedStates } from '../states.ts'

/**
 * Looks up an import as the API and the command line show it (design.md §2, Import view; design.md §3, Import status).
 *
 * Accepts the URL that links to error files begin with; without it there are no links. Returns undefined if there is no
 * such import.
 */
export async function showImport(
  db: Database,
  apiUrl: string | undefined,
  { appId, importId }: { appId: OwnerApp; importId: string },
): Promise<ImportView | undefined> {
  if (!isUuid(importId)) return undefined
  const row = await importsOf(db, appId).where('import_id', '=', importId).executeTakeFirst()
  return row === undefined ? undefined : toView(row, apiUrl)
}

/** Returns the ID of the app that an import belongs to; undefined if there is no such import. */
export async function findAppOfImport(db: Database, importId: string): Promise<number | undefined> {
  if (!isUuid(importId)) return undefined
  const found = await db.selectFrom('imports').select('app_id').where('import_id', '=', importId).executeTakeFirst()
  return found?.app_id
}

/** Looks up imports as {@link showImport} does. Returns the views in the order of the IDs. */
export async function showImports(
  db: Database,
  apiUrl: string | undefined,
  { appId, importIds }: { appId: OwnerApp; importIds: readonly string[] },
): Promise<ImportView[]> {
  if (importIds.length === 0) return []
  const rows = await importsOf(db, appId).where('import_id', 'in', importIds).execute()
  const found = new Map(rows.map((row) => [row.import_id, row]))
  return importIds.flatMap((id) => found.get(id) ?? []).map((row) => toView(row, apiUrl))
}

function importsOf(db: Database, appId: OwnerApp) {
  const imports = selectImports(db)
  return appId === 'any' ? imports : imports.where('app_id', '=', appId)
}

/**
 * Maximum number of bytes of types, warnings and counts of changes in a page. One import may exceed it. 100 imports of
 * 50,000 columns each would have 42 MB.
 */
const pageBytes = 2 ** 20

/**
 * Returns a page of an app's imports (second-day.md §3, List of imports), newest request first, and the cursor of the
 * next page; null if there is none. Imports that are added later do not move the following pages. A page has fewer
 * imports if their views are large.
 */
export async function pageOfImports(
  db: Database,
  apiUrl: string | undefined,
  appId: number,
  request: ImportListRequest,
): Promise<{ imports: ImportView[]; nextCursor: string | null }> {
  const found = await findPage(db, appId, request)
  const page = found.slice(0, request.limit).filter(({ bytes }, index) => index === 0 || bytes <= pageBytes)
  const last = page.at(-1)
  const importIds = page.map((row) => row.import_id)
  return {
    imports: await showImports(db, apiUrl, { appId, importIds }),
    nextCursor: last !== undefined && found.length > page.length ? importCursor(last.sequence_number) : null,
  }
}

interface PlaceInPage {
  import_id: string
  sequence_number: number
  /** Number of bytes of types and warnings of this import and the preceding ones of the page. */
  bytes: number
}

/** Finds the imports of a page, and the import that follows the page. Reads no further import. */
async function findPage(db: Database, appId: number, request: ImportListRequest): Promise<PlaceInPage[]> {
  const { state, source, limit, cursor: before } = request
  const chosen = sql`app_id = ${appId}
    ${state === undefined ? sql`` : sql`and state = ${state}`} ${source === undefined ? sql`` : sql`and source = ${source}`}`
  const bytes = sql`octet_length(types::text) + octet_length(warnings::text) + octet_length(changes::text)`
  const { rows } = await sql<PlaceInPage>`
    with recursive page as (
      (
        select import_id, sequence_number, 1 as place, ${bytes} as bytes from imports
        where ${chosen} ${before === undefined ? sql`` : sql`and sequence_number < ${before}`}
        order by sequence_number desc limit 1
      )
      union all
      select following.* from page cross join lateral (
        select import_id, sequence_number, page.place + 1, page.bytes + ${bytes} from imports
        where ${chosen} and sequence_number < page.sequence_number
        order by sequence_number desc limit 1
      ) following
      where page.place <= ${limit}::integer and (page.place = 1 or page.bytes <= ${pageBytes}::integer)
    )
    select import_id, sequence_number, bytes from page order by place
  `.execute(db)
  return rows
}

/** Selects the columns of a {@link ViewRow} from all imports. */
export function selectImports(db: Database) {
  return selectSummaries(db)
    .select(['types', 'warnings', 'keep_changes', 'changes', 'changes_file_ends_before_row'])
    .select(['held_reasons', 'held_until'])
}

/** Selects the columns of a {@link SummaryRow} from all imports. Their size does not depend on the file. */
export function selectSummaries(db: Database) {
  return db
    .selectFrom('imports')
    .select(['import_id', 'state', 'source', 'file_name', 'dry_run', 'error'])
    .select([
      'retry_of',
      'undo_of',
      'rows_total',
      'rows_applied',
      'rows_failed',
      'rows_changed',
      'error_file_secret',
      'changes_file_secret',
      sql<boolean>`(state in ${unfinishedStates} and ${isPaused(sql`imports.app_id`)})`.as('paused'),
      sql<boolean>`exists (select from service_pause)`.as('all_paused'),
      'error_file_ends_before_row',
      'files_removed_at',
      'requested_at',
      'started_at',
      'finished_at',
    ])
}

/** The time from the first claim of an import to its end or to now, s; null before the first claim. */
export const secondsTaken = sql<number | null>`extract(epoch from coalesce(finished_at, now()) - started_at)::float8`

/** Returns {@link secondsTaken} in ms. A clock that was set back makes no negative time. */
export function millisecondsTaken({ seconds }: { seconds: number | null }): number | null {
  return seconds === null ? null : Math.max(0, seconds * 1000)
}

export type ViewRow = Awaited<ReturnType<ReturnType<typeof selectImports>['execute']>>[number]
type SummaryRow = Awaited<ReturnType<ReturnType<typeof selectSummaries>['execute']>>[number]

/** An import as lists for people show it. */
export type ImportSummary = Omit<
  ImportView,
  'held' | 'types' | 'warnings' | 'keep_changes' | 'changes' | 'changes_file_ends_before_row'
>

/** Returns an import's row as the API shows it. Links to error files begin with `apiUrl`. */
export function toView(row: ViewRow, apiUrl: string | undefined): ImportView {
  const { changes_file_ends_before_row: endsBeforeRow } = row
  return {
    ...toSummary(row, apiUrl),
    held: toHeld(row),
    types: row.types,
    // second-day.md §1, Warnings.
    warnings: row.warnings,
    keep_changes: row.keep_changes,
    changes: row.keep_changes || row.dry_run || row.state === 'held' ? toChanges(row.changes) : null,
    ...(endsBeforeRow !== null && { changes_file_ends_before_row: endsBeforeRow }),
  }
}

/** Returns why an import is held, and of a dry run why it would be (changes.md §2, Held). */
function toHeld({ state, dry_run: isDryRun, held_reasons: reasons, held_until: until }: ViewRow): ImportView['held'] {
  if (reasons === null || reasons.length === 0) return null
  if (isDryRun) return { reasons, until: null }
  return state === 'held' ? { reasons, until: until?.toISOString() ?? null } : null
}

/** Returns counts as the API shows them (changes.md §1, Counts). */
export function toChanges({ created = 0, changed = 0, keys: stored = {} }: ViewRow['changes']): ImportChanges {
  const keys = Object.entries(stored).map(
    ([key, counts]) => [key, { added: 0, changed: 0, removed: 0, ...counts }] as const,
  )
  const sum = (name: 'added' | 'changed' | 'removed') => keys.reduce((total, [, counts]) => total + counts[name], 0)
  return {
    rows: { created, changed },
    values: { added: sum('added'), changed: sum('changed'), removed: sum('removed') },
    keys: Object.fromEntries(keys),
  }
}

export function toSummary(row: SummaryRow, apiUrl: string | undefined): ImportSummary {
  const link = (file: ChunkFile, secret: string | null) =>
    secret === null || row.files_removed_at !== null || apiUrl === undefined
      ? null
      : fileUrl(apiUrl, file, { importId: row.import_id, secret })
  return {
    import_id: row.import_id,
    state: row.state,
    source: row.source,
    // second-day.md §1, File name.
    file_name: row.file_name,
    ...(row.dry_run && { dry_run: true }),
    ...(row.retry_of !== null && { retry_of: row.retry_of }),
    ...(row.undo_of !== null && { undo_of: row.undo_of }),
    // second-day.md §6, Pauses.
    ...(row.paused && { paused: true, ...(row.all_paused && { all_apps_paused: true }) }),
    rows_total: row.rows_total,
    rows_applied: row.rows_applied,
    rows_failed: row.rows_failed,
    rows_changed: row.rows_changed,
    error: row.error,
    error_file_url: link('errors', row.error_file_secret),
    changes_file_url: link('changes', row.changes_file_secret),
    // design.md §3, Error file's size.
    ...(row.error_file_ends_before_row !== null && { error_file_ends_before_row: row.error_file_ends_before_row }),
    requested_at: row.requested_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    finished_at: row.finished_at?.toISOString() ?? null,
  }
}
