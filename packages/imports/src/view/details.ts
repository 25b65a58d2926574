import type { ImportView } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { isImportId } from '../context.ts'
import { selectImports, toView, type ViewRow } from './view.ts'

/** What an import that neither runs nor has ended waits for. */
export type Wait =
  | { for: 'upload'; until: Date | null }
  | { for: 'retry'; until: Date }
  /** The import that goes first, which itself may still be uploading, and how many go before this one. */
  | { for: 'turn'; importId: string; state: 'awaiting_upload' | 'queued' | 'processing'; ahead: number }
  /** It is next: a worker has to be free. */
  | { for: 'worker' }

/** An import as its page shows it. */
export interface ImportDetails {
  view: ImportView
  fileName: string | null
  contentType: 'text/csv' | 'application/gzip'
  /** Key and size (bytes) of the upload in storage; the size is null where it is not known yet. */
  objectKey: string
  byteSize: number | null
  /** Byte offset in the uncompressed file up to which rows are committed. */
  position: number
  /** Columns of the header; null before the first batch. */
  columns: string[] | null
  /** Rows of the error file by message, and those of the rarer messages under `other messages`. */
  errorCounts: Record<string, number>
  /** The report of a cancelled import is still to be made. */
  reportDue: boolean
  /** How long it runs or ran, waits between attempts included, ms; null where it has not begun. */
  took: number | null
  wait: Wait | null
}

/** Gives an import of an app with everything that its page shows, at one moment; undefined where the app has none of this ID. */
export async function showDetails(
  db: Database,
  apiUrl: string,
  appId: number,
  importId: string,
): Promise<ImportDetails | undefined> {
  if (!isImportId(importId)) return undefined
  const row = await selectImports(db)
    .select(['file_name', 'content_type', 'object_key', 'position', 'columns', 'error_counts', 'report_due'])
    .select(['sequence_number', 'upload_expires_at', 'holds_order'])
    .select(({ fn }) => fn.coalesce('stored_size', 'byte_size').as('bytes'))
    .select(sql<number | null>`extract(epoch from coalesce(finished_at, now()) - started_at)::float8`.as('seconds'))
    .select(sql<Date | null>`case when retry_at > now() then retry_at end`.as('retries_at'))
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirst()
  if (row === undefined) return undefined
  return {
    view: toView(row, apiUrl),
    fileName: row.file_name,
    contentType: row.content_type,
    objectKey: row.object_key,
    byteSize: row.bytes,
    position: row.position,
    columns: row.columns,
    errorCounts: row.error_counts,
    reportDue: row.report_due,
    took: row.seconds === null ? null : Math.max(0, row.seconds * 1000),
    wait: await waitOf(db, appId, row),
  }
}

type WaitRow = ViewRow & {
  sequence_number: number
  upload_expires_at: Date | null
  retries_at: Date | null
  holds_order: boolean
}

/** The import runs, or was released after it committed a batch: it comes before all others of its import order. */
const runsFirst = sql<boolean>`(state = 'processing' or holds_order)`

async function waitOf(db: Database, appId: number, row: WaitRow): Promise<Wait | null> {
  if (row.state === 'awaiting_upload') return { for: 'upload', until: row.upload_expires_at }
  if (row.state !== 'queued') return null
  if (row.retries_at !== null) return { for: 'retry', until: row.retries_at }
  const { rows } = await sql<{ import_id: string; state: 'awaiting_upload' | 'queued' | 'processing'; ahead: number }>`
    select import_id, state, count(*) over ()::integer as ahead from imports
    where app_id = ${appId} and dry_run = ${row.dry_run} and state in ('awaiting_upload', 'queued', 'processing')
      and import_id <> ${row.import_id}
      and (${runsFirst} or not ${row.holds_order}::boolean and sequence_number < ${row.sequence_number})
    order by ${runsFirst} desc, sequence_number limit 1
  `.execute(db)
  const [first] = rows
  if (first === undefined) return { for: 'worker' }
  return { for: 'turn', importId: first.import_id, state: first.state, ahead: first.ahead }
}

/** An import in a list. */
export interface ListedImport {
  view: ImportView
  fileName: string | null
  /** Its place in the app's order of requests: what the next page begins before. */
  sequenceNumber: number
  /** Place among those that wait or run, 1 for the first; null for one that has ended. */
  place: number | null
  /** As in {@link ImportDetails}. */
  took: number | null
}

/**
 * Gives a page of an app's imports, newest request first: at most `limit`, those before the line number `before` where one is
 * given. The work does not grow with the number of imports that have ended.
 */
export async function listImportsBefore(
  db: Database,
  apiUrl: string,
  appId: number,
  { before, limit }: { before?: number; limit: number },
): Promise<ListedImport[]> {
  const rows = await selectImports(db)
    .select(['file_name', 'sequence_number'])
    .select(sql<number | null>`extract(epoch from coalesce(finished_at, now()) - started_at)::float8`.as('seconds'))
    .where('app_id', '=', appId)
    .$if(before !== undefined, (query) => query.where('sequence_number', '<', before ?? 0))
    .orderBy('sequence_number', 'desc')
    .limit(limit)
    .execute()
  const places = rows.some((row) => row.finished_at === null) ? await placesInLine(db, appId) : new Map()
  return rows.map((row) => ({
    view: toView(row, apiUrl),
    fileName: row.file_name,
    sequenceNumber: row.sequence_number,
    place: places.get(row.import_id) ?? null,
    took: row.seconds === null ? null : Math.max(0, row.seconds * 1000),
  }))
}

/** The places of an app's imports that wait or run, by ID: in request order, but one that runs or holds the order is first. */
async function placesInLine(db: Database, appId: number): Promise<Map<string, number>> {
  const { rows } = await sql<{ import_id: string; place: number }>`
    select import_id,
      (row_number() over (partition by dry_run order by ${runsFirst} desc, sequence_number))::integer as place
    from imports where app_id = ${appId} and state in ('awaiting_upload', 'queued', 'processing')
  `.execute(db)
  return new Map(rows.map((row) => [row.import_id, row.place]))
}
