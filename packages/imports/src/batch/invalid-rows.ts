import { problemOf, RowSplitter } from '@sluice/csv'
import type { UserStates } from '@sluice/profiles'
import type { Columns } from '../file/columns.ts'
import { noUser, type PreparedBatch } from './batch.ts'
import type { Findings } from './check.ts'
import type { ErrorCounts } from './error-counts.ts'
import { type Problem, unregistered } from './problems.ts'

/**
 * Adds the rows that are not applied to the batch's kept rows, in file order, and counts them by message.
 *
 * Accepts the number of rows in the file that precede the batch. Returns the number of rows that are not applied.
 */
export function keepInvalidRows(
  { slices, users, keptRows }: PreparedBatch,
  { problems: found }: Findings,
  states: UserStates,
  { userIdIndex }: Columns,
  precedingRows: number,
  counts: ErrorCounts,
): number {
  const ofUnregistered = unregistered(userIdIndex)
  const problems: Problem[] = []
  const splitter = new RowSplitter()
  let rowsFailed = 0
  let number = 0
  let next = 0
  for (const { block, from, to } of slices) {
    for (let row = from; row < to; row++, number++) {
      const user = users[number] ?? noUser
      const isUnregistered = user !== noUser && !states.isRegistered(user)
      if (found.rows[next] !== number && !isUnregistered) continue
      problems.length = 0
      for (; found.rows[next] === number; next++) problems.push(found.problems[next] ?? 0)
      if (isUnregistered) problems.push(ofUnregistered)
      // The columns may have been checked in the order of document keys. Messages follow the order of the file.
      if (problems.length > 1) problems.sort((one, other) => one - other)
      rowsFailed++
      counts.add(problems)
      // An unreadable row may be about a user who was deleted after the file was sent, so it is counted but not kept.
      if (states.followDeletion && problemOf(block, row) !== undefined) continue
      keptRows.add(precedingRows + number + 1, problems, splitter.split(block, row))
    }
  }
  return rowsFailed
}
