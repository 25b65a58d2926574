import { isDeepStrictEqual } from 'node:util'
import type { ValueType } from '@sluice/contract'
import {
  type CompiledQuery,
  type Database,
  mustFind,
  NothingFound,
  prepared,
  type RawBuilder,
  retryConflicts,
  sql,
  writeTogether,
} from '@sluice/database'
import { beforeLookup, lookUpUsers, mergeProfiles, registerKeys, rowsChanged } from '@sluice/profiles'
import type { ImportContext } from '../context.ts'
import { otherTypes } from '../file/check-columns.ts'
import type { Columns, ProfileColumn } from '../file/columns.ts'
import { type Claim, ClaimLost, claimed } from '../order/claim.ts'
import type { PreparedBatch } from './batch.ts'
import { checkRows, type Findings } from './check.ts'
import { previewed, previewKeys } from './dry-run.ts'
import { saveKeptRows } from './error-chunks.ts'
import { ErrorCounts } from './error-counts.ts'
import { keepInvalidRows } from './invalid-rows.ts'
import { type Expectation, type ProfilesFound, planOf, profilesFound } from './profile-expectation.ts'

/**
 * Another transaction has registered keys of this batch with other types. The rows must be checked again with these
 * types.
 */
export class TypesChanged extends Error {
  override readonly name = 'TypesChanged'
  /** The types with which the keys are registered, by column. This batch was to register other types. */
  readonly registered: ReadonlyMap<ProfileColumn, ValueType>

  constructor(registered: ReadonlyMap<ProfileColumn, ValueType>) {
    super('keys are registered with other types')
    this.registered = registered
  }
}

/**
 * Maximum number of transactions of one import at the same time. With a single one, Postgres would be idle while this
 * process checks rows, and this process while Postgres writes.
 */
export const maxBatchesInFlight = 3

/** Lock numbers of an attempt: each batch holds its own lock and waits for the lock of the preceding batch. */
const locksPerAttempt = maxBatchesInFlight + 1

/** The place of a batch among the batches of a claim. */
export interface BatchPlace {
  /** Number of preceding batches under this claim. */
  number: number
  /** Position at the end of the preceding batch. This batch commits only if the import has that position. */
  precedingEnd: number
  /** Rows of the file that precede this batch. */
  precedingRows: number
  /** Types in the import's row before this batch; undefined if no batch has written columns and types yet. */
  precedingTypes: Readonly<Record<string, ValueType>> | undefined
  /** Bytes that the rows of the error file may take. The first batch sets this limit in the import's row. */
  errorRoomBytes: number
  /**
   * The preceding batch may be in flight. This batch must wait for the end of that batch's transaction before it
   * writes.
   */
  followsBatchInFlight: boolean
  expectation: Expectation
  /**
   * Called in each run of the transaction as soon as it holds the lock of this batch. From then on, the following batch
   * can wait for the lock. If the run aborts, the following batch aborts as well and is sent again.
   */
  onLocked?: () => void
}

/** The outcome of a committed batch. */
export interface Committed {
  rowsFailed: number
  profiles: ProfilesFound
  /** Columns whose keys the batch registered, with their types. */
  registered: readonly ProfileColumn[]
}

/**
 * Commits a batch: its values, the keys it registers, its invalid rows, the import's counters and its position, in one
 * transaction under the claim (design.md §4, Exactly once).
 *
 * Throws {@link ClaimLost} if the claim is lost or the preceding batch is not committed. Throws {@link TypesChanged},
 * `KeyLimitExceeded`, and `FileError` if a declared type is not the registered one. Nothing is written if it throws.
 * Never changes `columns`.
 */
export async function commitBatch(
  context: ImportContext,
  claim: Claim,
  columns: Columns,
  batch: PreparedBatch,
  place: BatchPlace,
): Promise<Committed> {
  try {
    return await retryConflicts((isRetry) => writeBatch(context, claim, columns, batch, place, isRetry))
  } catch (error) {
    throw error instanceof NothingFound ? new ClaimLost() : error
  }
}

async function writeBatch(
  context: ImportContext,
  claim: Claim,
  columns: Columns,
  batch: PreparedBatch,
  place: BatchPlace,
  isRetry: boolean,
): Promise<Committed> {
  const { db, settings } = context
  const { profileBatch, keptRows } = batch
  const plan = planOf(place.expectation, isRetry)
  // A crash may lose an asynchronous commit. Exactly-once still holds: rows and position are lost together, and the
  // rows are read again.
  const begin = prepared`
    select set_config('synchronous_commit', 'off', true), ${lockOf(claim, place.number)}, ${beforeLookup(claim.appId)}`
  return await writeTogether(db, [begin.compile(db)], async (tx) => {
    place.onLocked?.()
    // An aborted run may have filled this memory, and `retryConflicts` requires each run to clear it.
    profileBatch.clearValues()
    keptRows.clear()

    const states = await lookUpUsers(tx, claim.appId, profileBatch, claim.dataOrder, plan.assumesNone)
    const findings = await checkRows(batch, columns, states)
    const registered = await registerUsedKeys(tx, claim, columns, findings, settings.PROFILE_KEY_LIMIT)
    const counts = new ErrorCounts(columns.names)
    const rowsFailed = keepInvalidRows(batch, findings, states, columns, place.precedingRows, counts)
    const committed: Committed = {
      rowsFailed,
      profiles: profilesFound(place.expectation, isRetry, states.hasProfiles),
      registered,
    }
    const writes = [
      ...(place.followsBatchInFlight ? afterPrecedingBatch(tx, claim, place) : []),
      // Only one batch of an import is here at a time. Its locks delay profile updates of these users until it commits.
      ...(claim.dryRun ? [] : mergeProfiles(tx, claim.appId, profileBatch, states, plan.toleratesConflicts)),
      ...(keptRows.lineBytes > 0 ? [saveKeptRows(tx, claim, batch, place.errorRoomBytes)] : []),
      // This update comes last, because it locks the import's row. Otherwise claiming the import would wait while
      // megabytes of rows arrive.
      progressTo(tx, context, claim, columns, batch, place, committed, counts, {
        rowsChanged: claim.dryRun ? sql<number>`0` : rowsChanged(profileBatch, states, plan.toleratesConflicts),
      }),
    ]
    return { writes, result: committed }
  })
}

/**
 * Returns an expression that acquires the lock of a batch when a statement selects it. If another transaction holds the
 * lock, the statement waits for the end of that transaction.
 *
 * The wait is in Postgres and not in this process, so that Postgres notices a deadlock between two transactions.
 */
function lockOf({ importId, attempt }: Claim, number: number): RawBuilder<unknown> {
  const ofImport = Number.parseInt(importId.slice(0, 8), 16) | 0
  // The number includes the attempt, so that locks of another attempt do not block this one.
  const ofBatch = (attempt * locksPerAttempt + (number % locksPerAttempt)) | 0
  return sql`pg_advisory_xact_lock(${ofImport}::integer, ${ofBatch}::integer)`
}

/**
 * Waits for the end of the preceding batch, and aborts this batch if the preceding one did not commit. Checking before
 * the rows are sent avoids sending them twice.
 */
function afterPrecedingBatch(tx: Database, claim: Claim, { number, precedingEnd }: BatchPlace): CompiledQuery[] {
  const position = tx
    .selectFrom('imports')
    .select('position')
    .where('app_id', '=', claim.appId)
    .where('import_id', '=', claim.importId)
    .where('position', '=', precedingEnd)
  return [prepared`select ${lockOf(claim, number - 1)}`.compile(tx), mustFind(position.compile())]
}

/**
 * Registers the keys for which valid rows of registered users have values. A file of which nothing is applied therefore
 * registers nothing.
 *
 * Returns the columns of these keys. Throws {@link TypesChanged}, `KeyLimitExceeded`, and `FileError` if a key whose
 * type was declared has another type now.
 */
async function registerUsedKeys(
  tx: Database,
  { appId, dryRun }: Claim,
  all: Columns,
  { toRegister }: Findings,
  limit: number,
): Promise<ProfileColumn[]> {
  const columns = [...toRegister]
  const wanted = new Map(columns.flatMap(({ key, type }) => (type === undefined ? [] : [[key, type] as const])))
  if (wanted.size === 0) return []

  const types = await (dryRun ? previewKeys(tx, appId, all, wanted, limit) : registerKeys(tx, appId, wanted, limit))
  const changed = new Map<ProfileColumn, ValueType>()
  for (const column of columns) {
    const type = types.get(column.key)
    if (type !== undefined && type !== column.type) changed.set(column, type)
  }
  const refused = [...changed].filter(([{ declared }]) => declared !== undefined)
  if (refused.length > 0) throw otherTypes(new Map(refused.map(([{ key }, type]) => [key, type])), all.names)
  if (changed.size > 0) throw new TypesChanged(changed)
  return columns
}

/**
 * Returns the update that sets counters and position and renews the lease. The transaction aborts if the claim is lost
 * or the preceding batch is not committed.
 */
function progressTo(
  tx: Database,
  context: ImportContext,
  claim: Claim,
  columns: Columns,
  batch: PreparedBatch,
  { precedingEnd, precedingTypes, errorRoomBytes }: BatchPlace,
  { rowsFailed, registered }: Committed,
  counts: ErrorCounts,
  { rowsChanged }: { rowsChanged: RawBuilder<number> },
): CompiledQuery {
  const { lineBytes } = batch.keptRows
  const progress = claimed({ db: tx }, claim)
    .where('position', '=', precedingEnd)
    .set({
      // Columns and types may be longer than the rows of the batch, so they are written only if they have changed.
      ...(precedingTypes === undefined && { columns: JSON.stringify(columns.names), error_room: errorRoomBytes }),
      ...(precedingTypes !== batch.types &&
        !isDeepStrictEqual(precedingTypes, batch.types) && {
          types: JSON.stringify(batch.types),
          warnings: JSON.stringify(batch.warnings),
        }),
      ...(batch.spellingCounts.length > 0 && {
        warnings: JSON.stringify(batch.warnings),
        spelling_counts: JSON.stringify(batch.spellingCounts),
      }),
      position: batch.end,
      ...(batch.wholeEnd !== undefined && { batch_end: batch.wholeEnd }),
      rows_total: sql<number>`rows_total + ${batch.rows}`,
      rows_applied: sql<number>`rows_applied + ${claim.dryRun ? 0 : batch.rows - rowsFailed}`,
      rows_failed: sql<number>`rows_failed + ${rowsFailed}`,
      rows_changed: sql<number>`rows_changed + ${rowsChanged}`,
      ...counts.added(),
      ...(claim.dryRun && previewed(registered)),
      ...(lineBytes > 0 && { error_bytes: sql<number>`error_bytes + ${lineBytes}` }),
      tries: 0,
      lease_until: sql<Date>`now() + make_interval(secs => ${context.settings.IMPORT_LEASE / 1000})`,
    })
  return mustFind(progress.returning('position').compile())
}
