import { setImmediate } from 'node:timers/promises'
import { rowMessages } from '@sluice/contract'
import { type Cells, problemOf, type RecordProblem, RowSplitter } from '@sluice/csv'
import type { Columns, ProfileColumn } from '../columns/columns.ts'
import type { UserStates } from '../documents/user-states.ts'
import { columnProblem, type Problem, rowProblem } from '../errors/problems.ts'
import { noUser, ofKnownRow, type PreparedBatch, userIdCellProblem } from './prepare.ts'

/** What checking the cells of a batch found. */
export interface Findings {
  /** Numbers of rows in the batch, in order. A row has an entry for each of its problems. */
  rows: number[]
  /** The problem of each entry in `rows`. */
  problems: Problem[]
  /** Unregistered columns that have values in valid rows of registered users. */
  toRegister: Set<ProfileColumn>
}

const unreadable = {
  'unclosed quote': rowProblem(rowMessages.unclosedQuote),
  'too long': rowProblem(rowMessages.tooLong),
} satisfies Record<RecordProblem, Problem>

const tooManyValues = rowProblem(rowMessages.tooManyValues)

/**
 * Checks every cell of the rows, and adds the values of valid rows to the batch (service.md, Bulk import CSV file;
 * service.md, Error CSV file; design.md §3, Row with fewer values; design.md §3, A row with any error;
 * design.md §3, Empty user_id).
 *
 * Skips rows whose values the profile already holds: they were valid when they were applied. Skips rows of users who
 * were deleted after the file was sent. Yields to the event loop after each block of rows.
 */
export async function checkRows(batch: PreparedBatch, columns: Columns, states: UserStates): Promise<Findings> {
  const findings: Findings = { rows: [], problems: [], toRegister: new Set() }
  const { unregistered } = columns
  const check = { batch, columns, findings }
  const splitter = new RowSplitter()
  let number = 0
  for (const { block, from, to } of batch.slices) {
    for (let row = from; row < to; row++, number++) {
      const problem = problemOf(block, row)
      if (problem !== undefined) {
        note(findings, number, unreadable[problem])
        continue
      }
      const user = batch.users[number] ?? noUser
      if (user === ofKnownRow || (user !== noUser && states.isDone(user))) continue
      const cells = splitter.split(block, row)
      const isValid = checkRow(check, cells, block.isText, number)
      if (isValid && unregistered.length > 0 && states.isRegistered(user)) noteKeysToRegister(cells, columns, findings)
    }
    await setImmediate()
  }
  return findings
}

/**
 * Checks the row with this number in the batch, and notes its problems. Adds the values of a valid row to the batch.
 * Returns whether the row is valid. `areText`: all cells are UTF-8 without NUL.
 */
function checkRow(
  { batch, columns, findings }: { batch: PreparedBatch; columns: Columns; findings: Findings },
  cells: Cells,
  areText: boolean,
  number: number,
): boolean {
  const { names, userIdIndex } = columns
  const { profileBatch, pairKeys } = batch
  const user = batch.users[number] ?? noUser
  const precedingProblems = findings.rows.length
  const { bytes, count } = cells
  // service.md, Error CSV file.
  if (count > names.length) note(findings, number, tooManyValues)
  const idProblem = user === noUser ? userIdCellProblem(cells, areText, userIdIndex) : undefined
  if (idProblem !== undefined) note(findings, number, idProblem)

  profileBatch.beginRow(bytes, areText)
  for (const { index, type } of columnsToCheck(columns, count)) {
    const key = pairKeys[index]
    if (index >= count || key === undefined) continue
    const start = cells.start[index] ?? 0
    const end = cells.end[index] ?? 0
    if (start === end) continue
    if (columns.isClearMarker(bytes, start, end)) {
      profileBatch.addRemoval(key)
      continue
    }
    // The batch's values have settled the types of its columns. A column still has no type only if each of its values
    // so far is a clear marker or not UTF-8. This value is no clear marker, so it is not UTF-8, and any type refuses
    // it.
    const problem = profileBatch.addValue(key, start, end, type ?? 'string')
    if (problem !== undefined) note(findings, number, columnProblem(index, problem.message))
  }
  const isValid = findings.rows.length === precedingProblems
  if (isValid) profileBatch.keepRow(user, number)
  else profileBatch.dropRow()
  return isValid
}

/**
 * Returns the columns to check in a row with `count` values.
 *
 * The columns of a short row are in file order, so Postgres has to sort the keys of its document. Sorting costs less
 * than going through the columns that the row lacks: a header may have 50,000 columns, and each row one value.
 */
function columnsToCheck({ names, profiles, inDocumentOrder }: Columns, count: number): readonly ProfileColumn[] {
  return count < names.length / 2 ? profiles.slice(0, count) : inDocumentOrder
}

function note({ rows, problems }: Findings, row: number, problem: Problem): void {
  rows.push(row)
  problems.push(problem)
}

/** Notes the unregistered columns in which a row has a value to store. Removing a value registers no key. */
function noteKeysToRegister(cells: Cells, columns: Columns, { toRegister }: Findings): void {
  for (const column of columns.unregistered) {
    if (column.index >= cells.count) return
    const [start, end] = [cells.start[column.index] ?? 0, cells.end[column.index] ?? 0]
    // second-day.md §2, Clear marker.
    if (start !== end && !columns.isClearMarker(cells.bytes, start, end)) toRegister.add(column)
  }
}
