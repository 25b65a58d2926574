import type { ValueType } from '@sluice/contract'
import { type ImportContentType, isConnectionFailure, sql } from '@sluice/database'
import type { ImportContext, ImportId, StoredFile } from '../context.ts'
import { isAbandoned, isNext, longestRetryDelay } from './next-in-order.ts'

/** An import in the hands of one worker: what was committed so far, under the attempt that the worker may write with. */
export interface Claim extends StoredFile {
  /** `cancelled` where only its report is to be made. */
  state: 'processing' | 'cancelled'
  /** The file is only checked. */
  dryRun: boolean
  /** When its sender began to send its data, as Postgres writes it: a `Date` has no microseconds. */
  sentAt: string
  attempt: number
  /** Claims since the last committed batch, this one included. */
  tries: number
  /** Bytes as declared, and as storage had them when the upload was noticed. */
  byteSize: number | null
  storedSize: number | null
  progress: Progress
}

/** How far an import has come: what commits with each batch. */
export interface Progress {
  /** Columns of the header; null until the first batch is committed. */
  columns: string[] | null
  /** Types of the columns for which one was registered or inferred. */
  types: Readonly<Record<string, ValueType>>
  /** Keys that committed batches of a dry run would have registered. */
  previewedKeys: string[]
  /** Byte offset in the uncompressed file, after the last committed row. */
  position: number
  rowsTotal: number
  rowsApplied: number
  rowsFailed: number
}

/** Another worker has claimed the import since, or may have: nothing may be written under this claim any more. */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'

  constructor(reason = 'another worker has the import') {
    super(reason)
  }
}

/**
 * Claims an import for this worker, if its turn has come: raises its attempt, which shuts out whoever had it before.
 *
 * Gives undefined where there is nothing to do: the job was doubled or late, or another worker was faster.
 */
export async function claimImport(context: ImportContext, { appId, importId }: ImportId): Promise<Claim | undefined> {
  const { db, settings } = context
  try {
    const { rows } = await sql<ClaimRow>`
      update imports i
      set state = 'processing', attempt = attempt + 1, tries = tries + 1, started_at = coalesce(started_at, now()),
        lease_until = now() + make_interval(secs => ${settings.IMPORT_LEASE / 1000}), retry_at = null, dispatched_at = null
      where i.app_id = ${appId} and i.import_id = ${importId}
        and (${isAbandoned(settings.IMPORT_LEASE)} or ${isNext(settings.UPLOAD_ORDER_WAIT)})
      returning ${claimColumns}
    `.execute(db)
    const row = rows[0]
    return row === undefined ? undefined : toClaim(row)
  } catch (error) {
    // Another import of the app was claimed, or committed a batch, at the same moment: the index lets one of them through.
    if (error instanceof Error && 'constraint' in error && error.constraint === 'imports_one_active_per_app')
      return undefined
    throw error
  }
}

/** What {@link toClaim} takes. */
export const claimColumns = sql`
  app_id, import_id, state, dry_run, requested_at::text as sent_at, attempt, tries, object_key, content_type, etag,
  checksum, byte_size, stored_size, columns, types, previewed_keys, position, rows_total, rows_applied, rows_failed`

export interface ClaimRow {
  app_id: number
  import_id: string
  state: 'processing' | 'cancelled'
  dry_run: boolean
  sent_at: string
  attempt: number
  tries: number
  object_key: string
  content_type: ImportContentType
  etag: string | null
  checksum: string | null
  byte_size: number | null
  stored_size: number | null
  columns: string[] | null
  types: Record<string, ValueType>
  previewed_keys: string[]
  position: number
  rows_total: number
  rows_applied: number
  rows_failed: number
}

/** The claim that an import's row says, just after it was claimed. */
export function toClaim(row: ClaimRow): Claim {
  return {
    appId: row.app_id,
    importId: row.import_id,
    state: row.state,
    dryRun: row.dry_run,
    sentAt: row.sent_at,
    attempt: row.attempt,
    tries: row.tries,
    objectKey: row.object_key,
    contentType: row.content_type,
    etag: row.etag,
    checksum: row.checksum,
    byteSize: row.byte_size,
    storedSize: row.stored_size,
    progress: {
      columns: row.columns,
      types: row.types,
      previewedKeys: row.previewed_keys,
      position: row.position,
      rowsTotal: row.rows_total,
      rowsApplied: row.rows_applied,
      rowsFailed: row.rows_failed,
    },
  }
}

/** The import's row, as long as the claim holds. */
export function claimed({ db }: { db: ImportContext['db'] }, { appId, importId, attempt, state }: Claim) {
  return db
    .updateTable('imports')
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('attempt', '=', attempt)
    .where('state', '=', state)
}

/** What has removed rows that were kept for an error file. */
export interface Removals {
  /** When a deletion did last, as Postgres writes it; null if none did. */
  deletion: string | null
  /** Somebody made room on a full disk. */
  fullDisk: boolean
}

/** What a query selects or returns of an import's row as {@link Removals}. */
export const removalColumns = [
  sql<string | null>`error_rows_since::text`.as('deletion'),
  sql<boolean>`error_file_ends_before_row is not null`.as('fullDisk'),
]

/** Tells the others that this worker is alive. Returns what has removed rows so far. Throws {@link ClaimLost}. */
export async function renewLease(context: ImportContext, claim: Claim): Promise<Removals> {
  const renewed = await claimed(context, claim)
    .set({ lease_until: sql<Date>`now() + make_interval(secs => ${context.settings.IMPORT_LEASE / 1000})` })
    .returning(removalColumns)
    .executeTakeFirst()
  if (renewed === undefined) throw new ClaimLost()
  return renewed
}

/** What releasing a claim sets: an import that has committed a batch stays next in order. */
const released = { state: 'queued', lease_until: null, holds_order: sql<boolean>`position > 0` } as const

/**
 * Releases the import before it is done, because this worker shuts down or its slice is over: that is not a failed try. Throws
 * {@link ClaimLost}.
 */
export async function handBack(context: ImportContext, claim: Claim): Promise<void> {
  const result = await claimed(context, claim)
    .set({ ...released, tries: sql<number>`greatest(tries - 1, 0)` })
    .executeTakeFirst()
  if (result.numUpdatedRows === 0n) throw new ClaimLost()
}

/** Pause before another try during an outage, ms: long enough not to press what is away, short enough to go on soon. */
const outageDelay = 10_000
/** The same if Postgres answers again: it replaced the connection that broke. */
const lostConnectionDelay = 2_000

/**
 * Gives the import back after an error that may pass: for 2 s, 4 s, 8 s … a minute, less up to half as jitter.
 *
 * Accepts how many tries there were, whether there is an outage, in which case this one does not count, and the error. The pause
 * after an outage is up to 10 s, or 2 s if only the connection to Postgres broke. Returns the delay, ms. Throws {@link ClaimLost}.
 */
export async function postpone(
  context: ImportContext,
  claim: Claim,
  tries: number,
  outage: boolean,
  error: unknown,
): Promise<number> {
  const pause = isConnectionFailure(error) ? lostConnectionDelay : outageDelay
  const longest = outage ? pause : Math.min(1000 * 2 ** tries, longestRetryDelay)
  const delay = Math.round(longest * (1 - Math.random() / 2))
  const result = await claimed(context, claim)
    .set({
      ...released,
      ...(outage && { tries: sql<number>`greatest(tries - 1, 0)` }),
      retry_at: sql<Date>`now() + make_interval(secs => ${delay / 1000})`,
    })
    .executeTakeFirst()
  if (result.numUpdatedRows === 0n) throw new ClaimLost()
  return delay
}

/**
 * Takes back the try of a claim that was lost because Postgres did not answer. A later claim may have begun since; a claim that
 * was postponed after all has its try back already.
 */
export async function returnTry({ db }: ImportContext, { appId, importId, attempt }: Claim): Promise<void> {
  await db
    .updateTable('imports')
    .set({ tries: sql<number>`greatest(tries - 1, 0)` })
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where(({ eb, and, or }) =>
      or([
        and([eb('attempt', '=', attempt), eb('state', '=', 'processing')]),
        and([eb('attempt', '>', attempt), eb('state', 'in', ['queued', 'processing'])]),
      ]),
    )
    .execute()
}
