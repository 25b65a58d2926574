import { type ImportView, isUuid } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { type UnfinishedState, unfinishedStates } from '../states.ts'
import { millisecondsTaken, secondsTaken, selectImports, toView, type ViewRow } from './view.ts'

/** Why an unfinished import does not run. */
export type Wait =
  | { for: 'upload'; until: Date | null }
  | { for: 'retry'; until: Date }
  /** The first of the preceding imports, which itself may still be uploading, and their number. */
  | { for: 'order'; importId: string; state: UnfinishedState; preceding: number }
  /** The app is paused, or all apps are. */
  | { for: 'resume' }
  /** The import is next in order, and no worker has claimed it yet. */
  | { for: 'worker' }

/** An import with everything that its page shows. */
export interface ImportDetails {
  view: ImportView
  contentType: 'text/csv' | 'application/gzip'
  /** Key of the upload in storage. */
  objectKey: string
  /** Size of the upload; null if it is not known yet. */
  byteSize: number | null
  /** Byte offset in the uncompressed file up to which rows are committed. */
  position: number
  /** Columns of the header; null before the first batch. */
  columns: string[] | null
  /** Number of invalid rows by message. Rarer messages are counted together as `other messages`. */
  errorCounts: Record<string, number>
  /** The uploaded file is stored, as far as the database knows. */
  fileStored: boolean
  /** The file is only checked for now: nothing is applied before the check has passed. */
  isCheck: boolean
  /** The report of a cancelled import is still to be made. */
  reportDue: boolean
  /** Time from the first claim to the end or to now, including waits between attempts; null before the first claim. */
  tookMs: number | null
  wait: Wait | null
  /** Why it is held, or was before it ended without approval; of a dry run, why the import would be. */
  holdReasons: readonly string[]
  /** Who asked for it: the address of a person, or the name of a token or key; null if nobody knows. */
  requestedBy: string | null
  /** It imports the file of a dry run. */
  isOfDryRun: boolean
  /** The import of this dry run's file that has completed or has not ended; null if there is none. */
  importedAs: string | null
  /** The undo that has taken the import back, or will; null if there is none. */
  undoneBy: string | null
}

/** Looks up an import of an app for its page. Returns undefined if the app has no import with this ID. */
export async function showDetails(
  db: Database,
  apiUrl: string,
  appId: number,
  importId: string,
): Promise<ImportDetails | undefined> {
  if (!isUuid(importId)) return undefined
  const row = await selectImports(db)
    .select(['content_type', 'object_key', 'position', 'columns', 'error_counts', 'report_due', 'is_check'])
    .select(['upload_expires_at', 'queued_at', 'requested_by'])
    .select(({ fn }) => fn.coalesce('stored_size', 'byte_size').as('bytes'))
    .select(secondsTaken.as('seconds'))
    .select(sql<Date | null>`case when retry_at > now() then retry_at end`.as('retries_at'))
    .select(isOfDryRun.as('is_of_dry_run'))
    .select(importedAs.as('imported_as'))
    .select(sql<string | null>`undone_by(app_id, import_id)`.as('undone_by'))
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirst()
  if (row === undefined) return undefined
  return {
    view: toView(row, apiUrl),
    contentType: row.content_type,
    objectKey: row.object_key,
    byteSize: row.bytes,
    position: row.position,
    columns: row.columns,
    errorCounts: row.error_counts,
    fileStored: row.queued_at !== null && row.files_removed_at === null,
    isCheck: row.is_check,
    reportDue: row.report_due,
    tookMs: millisecondsTaken(row),
    requestedBy: row.requested_by,
    isOfDryRun: row.is_of_dry_run,
    importedAs: row.imported_as,
    undoneBy: row.undone_by,
    holdReasons: row.held_reasons ?? [],
    wait: await waitOf(db, appId, row),
  }
}

const isOfDryRun = sql<boolean>`
  not dry_run and exists (
    select from imports d where d.app_id = imports.app_id and d.import_id = imports.retry_of and d.dry_run
  )`

const importedAs = sql<string | null>`
  case when dry_run and state = 'completed' then (
    select r.import_id from imports r
    where r.app_id = imports.app_id and r.object_key = imports.object_key and r.retry_of is not null
      and not r.dry_run and (r.state = 'completed' or r.state in ${unfinishedStates})
    limit 1
  ) end`

type WaitRow = ViewRow & {
  upload_expires_at: Date | null
  retries_at: Date | null
}

async function waitOf(db: Database, appId: number, row: WaitRow): Promise<Wait | null> {
  if (row.state === 'awaiting_upload') return { for: 'upload', until: row.upload_expires_at }
  if (row.state !== 'queued') return null
  if (row.paused) return { for: 'resume' }
  if (row.retries_at !== null) return { for: 'retry', until: row.retries_at }
  const { rows } = await sql<{ import_id: string; state: UnfinishedState; preceding: number }>`
    select first.import_id, first.state, mine.place - 1 as preceding
    from import_places mine join import_places first using (app_id, dry_run)
    where mine.app_id = ${appId} and mine.import_id = ${row.import_id} and mine.place > 1 and first.place = 1
  `.execute(db)
  const [first] = rows
  if (first === undefined) return { for: 'worker' }
  return { for: 'order', importId: first.import_id, state: first.state, preceding: first.preceding }
}
