import { errorFileRow, type Row } from '@sluice/csv'
import { type Database, retryConflicts, sql } from '@sluice/database'
import { mergeProfiles, registerKeys } from '@sluice/profiles'
import { type CheckedBatch, checkRows, type InvalidRow, invalidRows, settleTypes } from './batch.ts'
import { type Claim, ClaimLost, claimed, type Progress } from './claim.ts'
import { type Columns, type ProfileColumn, settledTypes } from './columns.ts'
import type { ImportContext } from './context.ts'

/** Another transaction registered a key with another type while this one was about to: the rows are checked anew. */
class TypesChanged extends Error {
  override readonly name = 'TypesChanged'
}

/**
 * Commits a batch: its values, the keys it registers, its invalid rows, the import's counters and its position, in one
 * transaction under the claim (design.md §4, Exactly once).
 *
 * Takes the rows and what was committed before; settles types in `columns`. Gives the new progress. Throws
 * {@link ClaimLost} and `KeyLimitExceeded`, with nothing written.
 */
export async function commitBatch(
  context: ImportContext,
  claim: Claim,
  columns: Columns,
  rows: readonly Row[],
  before: Progress,
): Promise<Progress> {
  settleTypes(rows, columns)
  for (;;) {
    const batch = checkRows(rows, columns)
    try {
      const written = await retryConflicts(() => writeBatch(context, claim, columns, batch, before))
      for (const column of written.registered) column.registered = true
      return written.progress
    } catch (error) {
      if (!(error instanceof TypesChanged)) throw error
    }
  }
}

async function writeBatch(
  context: ImportContext,
  claim: Claim,
  columns: Columns,
  batch: CheckedBatch,
  before: Progress,
): Promise<{ progress: Progress; registered: ProfileColumn[] }> {
  return await context.db.transaction().execute(async (tx) => {
    // Losing the last moments in a crash costs nothing: rows and position are lost together, and read again.
    await sql`set local synchronous_commit = off`.execute(tx)
    const registered = await registerUsedKeys(tx, claim.appId, batch, context.settings.PROFILE_KEY_LIMIT)
    const users = await mergeProfiles(tx, claim.appId, batch.updates)
    const invalid = invalidRows(batch, users, columns)
    const progress: Progress = {
      columns: [...columns.names],
      types: settledTypes(columns),
      position: batch.rows.at(-1)?.row.end ?? before.position,
      rowsTotal: before.rowsTotal + batch.rows.length,
      rowsApplied: before.rowsApplied + batch.rows.length - invalid.length,
      rowsFailed: before.rowsFailed + invalid.length,
    }
    await saveInvalidRows(tx, claim, columns, invalid, progress.position)
    await saveProgress(tx, context, claim, progress)
    return { progress, registered }
  })
}

/**
 * Registers the keys that valid rows of registered users have values for: a file that applies nothing registers nothing.
 * Gives their columns. Throws {@link TypesChanged} after it has put the types that hold into the columns.
 */
async function registerUsedKeys(
  tx: Database,
  appId: number,
  batch: CheckedBatch,
  limit: number,
): Promise<ProfileColumn[]> {
  if (batch.awaitingUse.size === 0) return []
  const lookups = batch.updates.map(({ userId }) => ({ userId, document: null }))
  const known = await mergeProfiles(tx, appId, lookups)
  const used = [...batch.awaitingUse].filter(([, users]) => [...users].some((user) => known[user]))
  const wanted = new Map(used.flatMap(([{ key, type }]) => (type === undefined ? [] : [[key, type] as const])))
  if (wanted.size === 0) return []

  const types = await registerKeys(tx, appId, wanted, limit)
  const columns = used.map(([column]) => column)
  const changed = columns.filter((column) => types.get(column.key) !== column.type)
  for (const column of changed) Object.assign(column, { type: types.get(column.key), registered: true })
  if (changed.length > 0) throw new TypesChanged()
  return columns
}

/** Bytes of lines in one chunk of an error file, about: messages can make a line many times longer than its row. */
const chunkBytes = 2 ** 20

async function saveInvalidRows(
  tx: Database,
  claim: Claim,
  columns: Columns,
  invalid: readonly InvalidRow[],
  position: number,
): Promise<void> {
  let part = 0
  let lines: Buffer[] = []
  let bytes = 0
  const save = async () => {
    const chunk = {
      app_id: claim.appId,
      import_id: claim.importId,
      position,
      part: part++,
      content: Buffer.concat(lines),
    }
    await tx.insertInto('import_error_chunks').values(chunk).execute()
    lines = []
    bytes = 0
  }
  for (const { row, messages } of invalid) {
    const line = errorFileRow(messages, row.cells, columns.names)
    bytes += line.length
    lines.push(line)
    if (bytes >= chunkBytes) await save()
  }
  if (lines.length > 0) await save()
}

/** Counters, position and a renewed lease, under the current attempt alone. */
async function saveProgress(tx: Database, context: ImportContext, claim: Claim, progress: Progress): Promise<void> {
  const result = await claimed({ db: tx }, claim)
    .set({
      columns: JSON.stringify(progress.columns),
      types: JSON.stringify(progress.types),
      position: progress.position,
      rows_total: progress.rowsTotal,
      rows_applied: progress.rowsApplied,
      rows_failed: progress.rowsFailed,
      tries: 0,
      lease_until: sql<Date>`now() + make_interval(secs => ${context.settings.IMPORT_LEASE / 1000})`,
    })
    .executeTakeFirst()
  if (result.numUpdatedRows === 0n) throw new ClaimLost()
}
