import type { FileOptions, FileProgress } from '@sluice/batches'
import type { ImportWarning, ValueType } from '@sluice/contract'
import { type ImportContentType, sql } from '@sluice/database'
import type { ImportContext, ImportId, StoredFile } from '../context.ts'
import { type OptionsRow, toOptions } from '../options.ts'
import { changeState, nextState } from '../states.ts'
import { awaitsWorker, isNext } from './next-in-order.ts'

/** A worker's right to write for an import: the attempt under which it writes. */
export interface Claim extends ImportId {
  /** `cancelled` if only the report of the import is still to be made; `held` if nobody approved it in time. */
  state: 'processing' | 'cancelled' | 'held'
  attempt: number
}

/** An import as its claim found it. */
export interface ClaimedImport extends Claim {
  /** The file is checked, and nothing is applied. */
  dryRun: boolean
  /** Nothing is applied before the check of the file has passed (changes.md §2, The check). */
  isCheck: boolean
  /** The import was held, and keeps the files of its check. */
  wasHeld: boolean
  /** What the rows change is kept. */
  keepsChanges: boolean
  options: FileOptions
  fileName: string | null
  /** The import whose changes file this is, to take them back; null for a file of rows. */
  undoOf: string | null
  /** Deletions with a higher number completed after the data was sent. */
  dataOrder: number
  /** Number of claims since the last committed batch, including this claim. */
  tries: number
  file: ClaimedFile
  progress: Progress
}

/** The file of a claimed import. */
export interface ClaimedFile extends StoredFile {
  /** Number of bytes that the client declared; null if it declared none. */
  byteSize: number | null
  /** Size of the stored file when its upload was noticed. */
  storedSize: number | null
}

/** How far an import has come. Committed with each batch. */
export interface Progress extends FileProgress {
  rowsApplied: number
  rowsFailed: number
}

/**
 * Another worker has claimed the import since, or may have, or the import was cancelled. Nothing may be written under
 * this claim any more.
 */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'

  constructor(reason = 'another worker has the import') {
    super(reason)
  }
}

/** Whether a worker let its lease of `i` run out. A query in `returning` still sees the row before its update. */
const wasLost = sql`(
  select b.state = 'processing' from imports b where b.app_id = i.app_id and b.import_id = i.import_id)`

const takenOver = 'import taken over: the worker that ran it was lost, or could not renew its lease'

/** The state of a claimed import. {@link awaitsWorker} selects the states that precede a claim. */
const processing = sql.lit(nextState(['queued', 'processing'], 'processing'))

/**
 * Claims an import for this worker if it is next in order and its app is not paused (design.md §4, One owner). The
 * claim raises the attempt, which shuts out any earlier worker.
 *
 * Returns undefined if the import is not next: its job was doubled or late, another worker was faster, or its app is
 * paused.
 */
export async function claimImport(
  context: ImportContext,
  { appId, importId }: ImportId,
): Promise<ClaimedImport | undefined> {
  const { db, settings } = context
  try {
    const { rows } = await sql<ClaimRow & { was_lost: boolean }>`
      update imports i
      set state = ${processing}, attempt = attempt + 1, tries = tries + 1, started_at = coalesce(started_at, now()),
        lease_until = now() + make_interval(secs => ${settings.IMPORT_LEASE / 1000}), retry_at = null, dispatched_at = null
      where i.app_id = ${appId} and i.import_id = ${importId}
        and ${awaitsWorker(settings.IMPORT_LEASE)} and ${isNext(settings.UPLOAD_ORDER_WAIT)}
      returning ${claimColumns}, ${wasLost} as was_lost
    `.execute(db)
    const [row] = rows
    if (row?.was_lost) context.log.warn({ app_id: appId, import_id: importId, attempt: row.attempt }, takenOver)
    return row && toClaim(row)
  } catch (error) {
    // The unique index on `app_id` and `dry_run` admits one active import in each order. After this statement had found
    // no active import, another worker made a different import of the order active: it claimed that import, and may
    // even have committed a batch and released it since (`holds_order`).
    if (error instanceof Error && 'constraint' in error && error.constraint === 'imports_one_active_per_app')
      return undefined
    throw error
  }
}

/** The columns of a {@link ClaimRow}. */
export const claimColumns = sql`
  app_id, import_id, state, dry_run, is_check, held_at is not null as was_held, data_order, attempt,
  tries, object_key, content_type, etag, checksum, byte_size, stored_size, file_name, undo_of, profile_types, new_keys, clear_marker, keep_changes, columns, types,
  warnings, spelling_counts, previewed_keys, position, batch_end, batch_rows, rows_total, rows_applied, rows_failed`

export interface ClaimRow extends OptionsRow {
  app_id: number
  import_id: string
  state: Claim['state']
  dry_run: boolean
  is_check: boolean
  was_held: boolean
  data_order: number
  attempt: number
  tries: number
  object_key: string
  content_type: ImportContentType
  etag: string | null
  checksum: string | null
  byte_size: number | null
  stored_size: number | null
  file_name: string | null
  undo_of: string | null
  columns: string[] | null
  types: Record<string, ValueType>
  warnings: ImportWarning[]
  spelling_counts: number[][]
  previewed_keys: string[]
  position: number
  batch_end: number | null
  batch_rows: number | null
  rows_total: number
  rows_applied: number
  rows_failed: number
}

/** Returns the claim that the row of a freshly claimed import describes. */
export function toClaim(row: ClaimRow): ClaimedImport {
  const id = { appId: row.app_id, importId: row.import_id }
  return {
    ...id,
    state: row.state,
    dryRun: row.dry_run,
    isCheck: row.is_check,
    wasHeld: row.was_held,
    keepsChanges: row.keep_changes,
    options: toOptions(row),
    fileName: row.file_name,
    undoOf: row.undo_of,
    dataOrder: row.data_order,
    attempt: row.attempt,
    tries: row.tries,
    file: {
      ...id,
      objectKey: row.object_key,
      contentType: row.content_type,
      etag: row.etag,
      checksum: row.checksum,
      byteSize: row.byte_size,
      storedSize: row.stored_size,
    },
    progress: {
      columns: row.columns,
      types: row.types,
      warnings: row.warnings,
      spellingCounts: row.spelling_counts,
      previewedKeys: row.previewed_keys,
      position: row.position,
      batchEnd: row.batch_end,
      batchRows: row.batch_rows,
      rowsTotal: row.rows_total,
      rowsApplied: row.rows_applied,
      rowsFailed: row.rows_failed,
    },
  }
}

/** Starts an update of the import's row. The update finds no row if the claim is lost. */
export function claimed({ db }: { db: ImportContext['db'] }, { appId, importId, attempt, state }: Claim) {
  return db
    .updateTable('imports')
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('attempt', '=', attempt)
    .where('state', '=', state)
}

/** Why rows that were kept for an error file were removed. */
export interface Removals {
  /** Number of the last removal of rows by a deletion; null if there was none. */
  deletion: number | null
  /** A worker removed rows because the disk of Postgres was full. */
  fullDisk: boolean
}

/** The columns of an import's row that make its {@link Removals}. */
export const removalColumns = [
  sql<number | null>`deletions_applied_until`.as('deletion'),
  sql<boolean>`error_file_ends_before_row is not null`.as('fullDisk'),
]

/** Renews the lease of a claim. Returns why rows were removed so far, if any were. Throws {@link ClaimLost}. */
export async function renewLease(context: ImportContext, claim: Claim): Promise<Removals> {
  const renewed = await claimed(context, claim)
    .set({ lease_until: sql<Date>`now() + make_interval(secs => ${context.settings.IMPORT_LEASE / 1000})` })
    .returning(removalColumns)
    .executeTakeFirst()
  if (renewed === undefined) throw new ClaimLost()
  return renewed
}

/**
 * Starts the update that releases a running import. An import that has committed a batch, or whose check has passed,
 * stays next in order.
 */
function released({ db }: ImportContext, { appId, importId, attempt }: Claim) {
  return changeState(db, ['processing'], 'queued')
    .set({ lease_until: null, holds_order: sql<boolean>`holds_order or position > 0` })
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('attempt', '=', attempt)
}

/**
 * Releases a claim because this worker shuts down, the import's slice is over, or its app is paused. The try does not
 * count. Throws {@link ClaimLost}.
 */
export async function releaseClaim(context: ImportContext, claim: Claim): Promise<void> {
  const result = await released(context, claim).set({ tries: sql<number>`greatest(tries - 1, 0)` }).executeTakeFirst()
  if (result.numUpdatedRows === 0n) throw new ClaimLost()
}

/** How a claim is postponed after an error that may pass. */
export interface Postponement {
  /** Time until the next try, ms. */
  pauseMs: number
  counts: boolean
  /** Maximum number of rows of a transaction in the next try; null if there is no limit. */
  batchRows: number | null
}

/** Releases a claim for another try. Throws {@link ClaimLost}. */
export async function postpone(
  context: ImportContext,
  claim: Claim,
  { pauseMs, counts, batchRows }: Postponement,
): Promise<void> {
  const result = await released(context, claim)
    .set({
      ...(!counts && { tries: sql<number>`greatest(tries - 1, 0)` }),
      retry_at: sql<Date>`now() + make_interval(secs => ${pauseMs / 1000})`,
      batch_rows: batchRows,
    })
    .executeTakeFirst()
  if (result.numUpdatedRows === 0n) throw new ClaimLost()
}

/**
 * Discounts the try of a claim that was lost because Postgres did not answer. Later claims, which count a try each, may
 * have begun since. Does nothing if a committed batch has discounted all tries, or if this one is discounted already.
 */
export async function discountTry({ db }: ImportContext, claim: ClaimedImport): Promise<void> {
  await db
    .updateTable('imports')
    .set({ tries: sql<number>`tries - 1` })
    .where('app_id', '=', claim.appId)
    .where('import_id', '=', claim.importId)
    .where('state', 'in', ['queued', 'processing'])
    .where('tries', '=', sql<number>`${claim.tries} + attempt - ${claim.attempt}`)
    .execute()
}
