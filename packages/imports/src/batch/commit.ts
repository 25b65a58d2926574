import { isDeepStrictEqual } from 'node:util'
import type { ValueType } from '@sluice/contract'
import {
  type CompiledQuery,
  type Database,
  mustFind,
  NothingFound,
  type RawBuilder,
  retryConflicts,
  sql,
  writeTogether,
} from '@sluice/database'
import { beforeLookUp, lookUpUsers, mergeProfiles, registerKeys, type UserStates } from '@sluice/profiles'
import type { ImportContext } from '../context.ts'
import type { Columns, ProfileColumn } from '../file/columns.ts'
import { type Claim, ClaimLost, claimed } from '../order/claim.ts'
import type { PreparedBatch } from './batch.ts'
import { checkRows, type Findings } from './check.ts'
import { previewed, previewKeys } from './dry-run.ts'
import { saveKeptRows } from './error-chunks.ts'
import { ErrorCounts } from './error-counts.ts'
import { keepInvalidRows } from './invalid-rows.ts'

/** Another transaction registered a key with another type while this one was about to: the rows have to be checked anew. */
export class TypesChanged extends Error {
  override readonly name = 'TypesChanged'
}

/**
 * What the batches before give to expect of users' profiles. `none`: they are not looked for. `contested`: profile updates
 * give users their first ones meanwhile, so that each insert looks again. Where more is there than was expected, the batch is
 * written a second time.
 */
export type Expectation = 'unknown' | 'none' | 'some' | 'contested'

/** Transactions of one import at the same time: one alone leaves Postgres waiting while the other end is at work. */
export const batchesAtOnce = 3

/** Locks of batches that take turns: each holds its own, and takes that of the one before. */
const locksInTurn = batchesAtOnce + 1

/** Which batch of a claim it is. */
export interface BatchPlace {
  /** Batches under this claim before it. */
  number: number
  /** Position that must have been committed for this batch to follow. */
  after: number
  /** Rows of the file before this batch. */
  rowsBefore: number
  /** Types that the import's row has before this batch; undefined if it has no columns yet either. */
  typesBefore: Readonly<Record<string, ValueType>> | undefined
  /** Bytes that the error file's rows may take, if it is the first batch: the import's row has it from then on. */
  errorRoom: number
  /** The batch before may still be under way: its transaction is to be over before this one writes. */
  followsOpenBatch: boolean
  profiles: Expectation
  /** Is told when the lock is held that stands for this batch: from then on the next one can wait for it. */
  onLocked?: () => void
}

/** What came of a batch. */
export interface Committed {
  rowsFailed: number
  /** What was found. */
  profiles: Exclude<Expectation, 'unknown'>
}

/**
 * Commits a batch: its values, the keys it registers, its invalid rows, the import's counters and its position, in one
 * transaction under the claim (design.md §4, Exactly once).
 *
 * Throws {@link ClaimLost} where the claim is lost or the batch before is not committed, {@link TypesChanged} with the types
 * that hold in `columns`, and `KeyLimitExceeded`; nothing is written then.
 */
export async function commitBatch(
  context: ImportContext,
  claim: Claim,
  columns: Columns,
  batch: PreparedBatch,
  place: BatchPlace,
): Promise<Committed> {
  try {
    const written = await retryConflicts((again) => writeBatch(context, claim, columns, batch, place, again))
    for (const column of written.registered) columns.register(column, column.type)
    return written
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
  again: boolean,
): Promise<Committed & { registered: ProfileColumn[] }> {
  const { db, settings } = context
  const isContested = place.profiles === 'contested' || again
  const expectNone = place.profiles === 'none' && !again
  // Losing the last moments in a crash costs nothing: rows and position are lost together, and read again.
  const begin = sql`
    /* prepared */
    select set_config('synchronous_commit', 'off', true), ${lockOf(claim, place.number)}, ${beforeLookUp(claim.appId)}`
  return await writeTogether(db, [begin.compile(db)], async (tx) => {
    place.onLocked?.()
    const states = await lookUpUsers(tx, claim.appId, batch.updates, claim.sentAt, expectNone)
    const findings = await checkRows(batch, columns, states)
    const registered = await registerUsedKeys(tx, claim, columns, findings, settings.PROFILE_KEY_LIMIT)
    const counts = new ErrorCounts(columns.names)
    const rowsFailed = keepInvalidRows(batch, findings, states, columns, place.rowsBefore, counts)
    const writes = [
      ...(place.followsOpenBatch ? afterBatchBefore(tx, claim, place) : []),
      // Never of two batches at once: profile updates of these users wait for them.
      ...(claim.dryRun ? [] : mergeProfiles(tx, claim.appId, batch.updates, states, isContested)),
      ...(batch.keptRows.lineBytes > 0 ? [saveKeptRows(tx, claim, batch, place.errorRoom)] : []),
      // Behind megabytes: whoever claims the import does not wait for them to arrive.
      progressTo(tx, context, claim, columns, batch, place, rowsFailed, counts, registered),
    ]
    return { writes, result: { rowsFailed, profiles: found(states, place, again), registered } }
  })
}

function found(states: UserStates, { profiles }: BatchPlace, again: boolean): Committed['profiles'] {
  // What a batch ran into without having looked for it, nobody need have written meanwhile.
  if (again) return profiles === 'none' ? 'some' : 'contested'
  return states.hasProfiles ? 'some' : 'none'
}

/**
 * Takes the lock that stands for a batch, and so waits for the end of its transaction. Waiting for it in Postgres, and not
 * here, lets Postgres see that two transactions wait for each other. Gives an expression to select.
 */
function lockOf({ importId, attempt }: Claim, number: number): RawBuilder<unknown> {
  const ofImport = Number.parseInt(importId.slice(0, 8), 16) | 0
  // Those of another attempt must not be in the way.
  const ofBatch = (attempt * locksInTurn + (number % locksInTurn)) | 0
  return sql`pg_advisory_xact_lock(${ofImport}::integer, ${ofBatch}::integer)`
}

/**
 * Waits for the end of the batch before, and gives this one up where that one is not committed: to find that out behind the
 * rows would be to write them twice.
 */
function afterBatchBefore(tx: Database, claim: Claim, { number, after }: BatchPlace): CompiledQuery[] {
  const position = tx
    .selectFrom('imports')
    .select('position')
    .where('app_id', '=', claim.appId)
    .where('import_id', '=', claim.importId)
    .where('position', '=', after)
  return [sql`/* prepared */ select ${lockOf(claim, number - 1)}`.compile(tx), mustFind(position.compile())]
}

/**
 * Registers the keys that valid rows of registered users have values for: a file that applies nothing registers nothing.
 * Gives their columns. Throws {@link TypesChanged} after it has put the types that hold into the columns.
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
  const changed = columns.filter((column) => types.get(column.key) !== column.type)
  for (const column of changed) all.register(column, types.get(column.key))
  if (changed.length > 0) throw new TypesChanged()
  return columns
}

/** Sets counters, position and a renewed lease, under the current attempt alone, and only behind the batch before. */
function progressTo(
  tx: Database,
  context: ImportContext,
  claim: Claim,
  columns: Columns,
  batch: PreparedBatch,
  { after, typesBefore, errorRoom }: BatchPlace,
  rowsFailed: number,
  counts: ErrorCounts,
  registered: readonly ProfileColumn[],
): CompiledQuery {
  const progress = claimed({ db: tx }, claim)
    .where('position', '=', after)
    .set({
      // Postgres would write them anew with each batch, and they may be longer than its rows.
      ...(typesBefore === undefined && { columns: JSON.stringify(columns.names), error_room: errorRoom }),
      ...(typesBefore !== batch.types &&
        !isDeepStrictEqual(typesBefore, batch.types) && { types: JSON.stringify(batch.types) }),
      position: batch.end,
      rows_total: sql<number>`rows_total + ${batch.rows}`,
      rows_applied: sql<number>`rows_applied + ${claim.dryRun ? 0 : batch.rows - rowsFailed}`,
      rows_failed: sql<number>`rows_failed + ${rowsFailed}`,
      ...counts.added(),
      ...(claim.dryRun && previewed(registered)),
      ...(batch.keptRows.lineBytes > 0 && { error_bytes: sql<number>`error_bytes + ${batch.keptRows.lineBytes}` }),
      tries: 0,
      lease_until: sql<Date>`now() + make_interval(secs => ${context.settings.IMPORT_LEASE / 1000})`,
    })
  return mustFind(progress.returning('position').compile())
}
