import { changesFileColumns, type ProgressStatements, undoUsers } from '@sluice/batches'
import { fileMessages } from '@sluice/contract'
import { FileError } from '@sluice/csv'
import { lookUpBySets, sql, writeTogether } from '@sluice/database'
import { keepUsers } from '@sluice/profiles'
import { ObjectGone } from '@sluice/storage'
import { type ReleaseReason, Slice } from '../order/slice.ts'
import { progressStatements } from './progress.ts'
import type { Run } from './run.ts'
import { checkLoaded, loadLines } from './undo-lines.ts'

/**
 * Undoes the lines of a changes file, user by user (changes.md §3, What it does). A position is a number of lines in
 * the order of users.
 *
 * Returns and throws as `applyRows`. Throws `FileError` if the changes file is gone, or a deletion removes it.
 */
export async function applyUndo(run: Run): Promise<ReleaseReason | undefined> {
  const began = performance.now()
  const { context, claim } = run
  try {
    await loadLines(run)
  } catch (error) {
    // changes.md §3, Allowed.
    throw error instanceof ObjectGone ? new FileError(fileMessages.changesFileGone) : error
  }
  run.progress = { ...run.progress, columns: [...changesFileColumns] }
  const statements = progressStatements(run)
  const slice = new Slice(context, claim, began)
  let precedingUser = await userBefore(run)
  for (;;) {
    context.shutdown?.throwIfAborted()
    const ended = await slice.endedBy()
    if (ended !== undefined) return ended
    const lastUser = await undoNextUsers(run, statements, precedingUser)
    if (lastUser === undefined) break
    precedingUser = lastUser
  }
  await checkLoaded(run)
  return undefined
}

/** Returns the last user whose lines are committed; an empty string if there is none. All lines must be loaded. */
async function userBefore({ context, claim, progress }: Run): Promise<string> {
  if (progress.position === 0) return ''
  const { rows } = await sql<{ user_id: string }>`
    select user_id from (
      select user_id, sum(cardinality(keys)) over (order by user_id, line) as position from undo_lines
      where app_id = ${claim.appId} and import_id = ${claim.importId}
    ) ends where position = ${progress.position}
  `.execute(context.db)
  if (rows[0] === undefined) throw new Error(`no user of the undo ends at line ${progress.position}`)
  return rows[0].user_id
}

/** Undoes the lines of the next users, in one transaction. Returns the last of them; undefined if there is none. */
async function undoNextUsers(run: Run, statements: ProgressStatements, after: string): Promise<string | undefined> {
  const { context, claim, progress } = run
  const { appId, dataOrder, dryRun } = claim
  const which = sql`app_id = ${appId}::integer and import_id = ${claim.importId}::uuid`
  const sentAt = performance.now()
  const begin = sql`select ${keepUsers(appId)}, ${lookUpBySets()}`
  const undone = await writeTogether(context.db, [begin.compile(context.db)], async (tx) => {
    const undo = { appId, dataOrder, dryRun, which, types: progress.types }
    const result = await undoUsers(tx, undo, { user: after, lines: progress.position })
    // A deletion has completed, but storage may not have removed the file yet.
    if (result?.followsDeletion) throw new FileError(fileMessages.changesFileGone)
    if (result === undefined) return { writes: [], result }
    const { batch, changes } = result
    return { writes: [statements.recordChanges(batch, changes), ...statements.record(batch)], result }
  })
  if (undone === undefined) return undefined
  statements.onCommit(undone.batch, performance.now() - sentAt)
  return undone.lastUser
}
