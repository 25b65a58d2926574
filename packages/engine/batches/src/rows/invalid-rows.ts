import { problemOf, RowSplitter } from '@sluice/csv'
import type { Columns } from '../columns/columns.ts'
import type { UserStates } from '../documents/user-states.ts'
import { ErrorCounts } from '../errors/error-counts.ts'
import { type Problem, unregistered } from '../errors/problems.ts'
import type { Findings } from './check.ts'
import { noUser, type PreparedBatch } from './prepare.ts'

/** What is known of a batch whose rows were checked. */
interface CheckedBatch {
  findings: Findings
  states: UserStates
  columns: Columns
  /** Rows of the file that precede the batch. */
  precedingRows: number
}

/**
 * Adds the rows that are not applied to the batch's kept rows, in file order. Returns their number, in all and by
 * message.
 */
export function keepInvalidRows(
  { slices, users, keptRows }: PreparedBatch,
  { findings, states, columns, precedingRows }: CheckedBatch,
): { rowsFailed: number; errorCounts: ErrorCounts } {
  const errorCounts = new ErrorCounts(columns.names)
  const ofUnregistered = unregistered(columns.userIdIndex)
  const problems: Problem[] = []
  const splitter = new RowSplitter()
  let rowsFailed = 0
  let number = 0
  let next = 0
  for (const { block, from, to } of slices) {
    for (let row = from; row < to; row++, number++) {
      const user = users[number] ?? noUser
      const isUnregistered = user >= 0 && !states.isRegistered(user)
      if (findings.rows[next] !== number && !isUnregistered) continue
      problems.length = 0
      for (; findings.rows[next] === number; next++) problems.push(findings.problems[next] ?? 0)
      if (isUnregistered) problems.push(ofUnregistered)
      // The columns may have been checked in the order of document keys. Messages follow the order of the file.
      if (problems.length > 1) problems.sort((one, other) => one - other)
      rowsFailed++
      errorCounts.add(problems)
      // An unreadable row may be about a user who was deleted after the file was sent, so it is counted but not kept.
      if (states.followDeletion && problemOf(block, row) !== undefined) continue
      keptRows.add(precedingRows + number + 1, problems, splitter.split(block, row))
    }
  }
  return { rowsFailed, errorCounts }
}
