import { isDeepStrictEqual } from 'node:util'
import type { ValueType } from '@sluice/contract'
import {
  type CompiledQuery,
  mustFind,
  prepared,
  type RawBuilder,
  retryConflicts,
  sql,
  writeTogether,
} from '@sluice/database'
import { findChanges } from '../changes/find-changes.ts'
import type { BatchContext, WrittenBatch } from '../context.ts'
import { checkRows } from '../rows/check.ts'
import { keepInvalidRows } from '../rows/invalid-rows.ts'
import type { PreparedBatch } from '../rows/prepare.ts'
import { mergeProfiles, rowsChanged } from './merge.ts'
import { type Expectation, type ProfilesFound, planOf, profilesFound } from './profile-expectation.ts'
import { registerUsedKeys } from './register-keys.ts'
import { beforeLookup, lookUpUsers } from './user-lookups.ts'

/**
 * Maximum number of transactions of one file at the same time. With a single one, Postgres would be idle while this
 * process checks rows, and this process while Postgres writes.
 */
export const maxBatchesInFlight = 3

/** Lock numbers of a file: each batch holds its own lock and waits for the lock of the preceding batch. */
const locks = maxBatchesInFlight + 1

/** The place of a batch among the batches of its file. */
export interface BatchPlace {
  /** Number of preceding batches that this process has sent. */
  number: number
  /** Rows of the file that precede this batch. */
  precedingRows: number
  /** The types that the owner has recorded with the preceding batch; undefined if no batch was recorded yet. */
  precedingTypes: Readonly<Record<string, ValueType>> | undefined
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
  onLocked: () => void
}

/** The outcome of a committed batch. */
export interface Committed {
  written: WrittenBatch
  profiles: ProfilesFound
  /** Users whose profiles held the values of their rows. */
  unchanged: number
}

/**
 * Commits a batch: its values, the keys it registers, and what the owner records of it (its invalid rows, counters and
 * position), in one transaction (design.md §4, Exactly once; design.md §3, Dry run, cancel).
 *
 * Throws `NothingFound` if the owner cannot record it, or the preceding batch is not committed. Throws `TypesChanged`,
 * `KeyLimitExceeded`, and `FileError` if a declared type is not the registered one. Nothing is written if it throws.
 * Never changes the columns.
 */
export async function commitBatch(context: BatchContext, batch: PreparedBatch, place: BatchPlace): Promise<Committed> {
  return await retryConflicts((isRetry) => writeBatch(context, batch, place, isRetry))
}

// changes.md §1, Counts; changes.md §1, Dry run and import agree.
async function writeBatch(
  context: BatchContext,
  batch: PreparedBatch,
  place: BatchPlace,
  isRetry: boolean,
): Promise<Committed> {
  const { db, columns, progress } = context
  const { appId, dataOrder, dryRun, keepsChanges, hashTaking } = context.owner
  const { profileBatch, keptRows } = batch
  const areChangesFound = dryRun || keepsChanges
  const plan = planOf(place.expectation, isRetry, dryRun || (keepsChanges && columns.hasClearMarker))
  // A crash may lose an asynchronous commit. Exactly-once still holds: rows and position are lost together, and the
  // rows are read again.
  const begin = prepared`
    select set_config('synchronous_commit', 'off', true), ${lockOf(context, place.number)}, ${beforeLookup(appId)}`
  return await writeTogether(db, [begin.compile(db)], async (tx) => {
    place.onLocked()
    // An aborted run may have filled this memory, and `retryConflicts` requires each run to clear it.
    profileBatch.clearValues()
    keptRows.clear()

    const states = await lookUpUsers(tx, { appId, dataOrder, batch: profileBatch }, plan)
    const findings = await checkRows(batch, columns, states)
    const registered = await registerUsedKeys(tx, context, findings.toRegister)
    const failed = keepInvalidRows(batch, { findings, states, columns, precedingRows: place.precedingRows })
    const toleratesConflicts = plan.toleratesConflicts && !areChangesFound
    const merge = { appId, batch: profileBatch, states, toleratesConflicts, areChangesFound, hashTaking }
    const checked = { ...merge, precedingRows: place.precedingRows, dryRun, keepsRows: keepsChanges }
    const changes = areChangesFound ? await findChanges(checked) : undefined
    const written = {
      ...batch,
      ...failed,
      hasNewTypes: batch.types !== place.precedingTypes && !isDeepStrictEqual(batch.types, place.precedingTypes),
      registered,
      rowsChanged: rowsChanged(merge),
      hasChanges: changes !== undefined,
    }
    const writes = [
      ...(place.followsBatchInFlight ? afterPrecedingBatch(context, batch, place) : []),
      ...(changes === undefined ? [] : [progress.recordChanges(batch, changes)]),
      // Only one batch of a file is here at a time. Its locks delay profile updates of these users until it commits.
      ...(dryRun ? [] : mergeProfiles(tx, merge)),
      // The owner's statements come last, because they lock its row. Otherwise others would wait for the row while
      // megabytes of rows arrive.
      ...progress.record(written),
    ]
    const profiles = profilesFound(place.expectation, isRetry, states.hasProfiles)
    return { writes, result: { written, profiles, unchanged: states.unchanged } }
  })
}

/**
 * Returns an expression that acquires the lock of a batch when a statement selects it. If another transaction holds the
 * lock, the statement waits for the end of that transaction.
 *
 * The wait is in Postgres and not in this process, so that Postgres notices a deadlock between two transactions.
 */
function lockOf({ lockSpace }: BatchContext, number: number): RawBuilder<unknown> {
  return sql`pg_advisory_xact_lock(${lockSpace}::integer, ${number % locks}::integer)`
}

/**
 * Waits for the end of the preceding batch, and aborts this batch if the preceding one did not commit. Checking before
 * the rows are sent avoids sending them twice.
 */
function afterPrecedingBatch(context: BatchContext, { start }: PreparedBatch, { number }: BatchPlace): CompiledQuery[] {
  const wait = prepared`select ${lockOf(context, number - 1)}`
  return [wait.compile(context.db), mustFind(context.progress.isAt(start))]
}
