import { setImmediate } from 'node:timers/promises'
import { rowMessages } from '@sluice/contract'
import { type Cells, problemOf, type RecordProblem, RowSplitter } from '@sluice/csv'
import type { Columns, ProfileColumn } from '../columns/columns.ts'
import type { ProfileBatch } from '../documents/profile-batch.ts'
import { columnProblem, type Problem, rowProblem } from '../errors/problems.ts'
import type { UserStates } from '../write/look-up-users.ts'
import { noUser, type PreparedBatch, userIdCellProblem } from './prepare.ts'

/** What checking the cells of a batch found. */
export interface Findings {
  problems: FoundProblems
  /** Unregistered columns that have values in valid rows of registered users. */
  toRegister: Set<ProfileColumn>
}

/** Problems of rows: `problems[i]` belongs to the row with the number `rows[i]` in the batch. The rows are in order. */
interface FoundProblems {
  rows: number[]
  problems: Problem[]
}

const unreadable = {
  'unclosed quote': rowProblem(rowMessages.unclosedQuote),
  'too long': rowProblem(rowMessages.tooLong),
} satisfies Record<RecordProblem, Problem>

const tooManyValues = rowProblem(rowMessages.tooManyValues)

/**
 * Checks every cell of the rows, and adds the values of valid rows to the batch.
 *
 * Skips rows whose values the profile already holds: they were valid when they were applied. Skips rows of users who
 * were deleted after the file was sent. Yields to the event loop after each block of rows.
 */
export async function checkRows(batch: PreparedBatch, columns: Columns, states: UserStates): Promise<Findings> {
  const findings: Findings = { problems: { rows: [], problems: [] }, toRegister: new Set() }
  const { unregistered } = columns
  const check = new RowCheck(batch, columns, findings.problems)
  const splitter = new RowSplitter()
  let number = 0
  for (const { block, from, to } of batch.slices) {
    for (let row = from; row < to; row++, number++) {
      const problem = problemOf(block, row)
      if (problem !== undefined) {
        note(findings.problems, number, unreadable[problem])
        continue
      }
      const user = batch.users[number] ?? noUser
      if (user !== noUser && states.isSettled(user)) continue
      const cells = splitter.split(block, row)
      const isValid = check.row(cells, block.isText, number, user)
      if (isValid && unregistered.length > 0 && states.isRegistered(user)) noteUse(cells, columns, findings)
    }
    await setImmediate()
  }
  return findings
}

/** Checks rows one by one, and adds the values of valid rows to the batch. */
class RowCheck {
  readonly #profileBatch: ProfileBatch
  readonly #columns: Columns
  readonly #found: FoundProblems

  constructor({ profileBatch }: PreparedBatch, columns: Columns, found: FoundProblems) {
    this.#profileBatch = profileBatch
    this.#columns = columns
    this.#found = found
  }

  /**
   * Checks the row with this number in the batch, and notes its problems. Returns whether the row is valid. `areText`:
   * all cells are UTF-8 without NUL.
   */
  row(cells: Cells, areText: boolean, number: number, user: number): boolean {
    const columns = this.#columns
    const { names, jsonKeys, userIdIndex } = columns
    const profileBatch = this.#profileBatch
    const precedingProblems = this.#found.rows.length
    const { bytes, count } = cells
    if (count > names.length) note(this.#found, number, tooManyValues)
    const idProblem = user === noUser ? userIdCellProblem(cells, areText, userIdIndex) : undefined
    if (idProblem !== undefined) note(this.#found, number, idProblem)

    profileBatch.beginRow(bytes, areText)
    for (const { index, type } of this.#columnsOf(count)) {
      const jsonKey = jsonKeys[index]
      if (index >= count || jsonKey === undefined) continue
      const start = cells.start[index] ?? 0
      const end = cells.end[index] ?? 0
      if (start === end) continue
      if (columns.isClearMarker(bytes, start, end)) {
        profileBatch.addRemoval(jsonKey)
        continue
      }
      // The batch's values have settled the types of its columns. A column still has no type only if each of its values
      // so far is a clear marker or not UTF-8. This value is no clear marker, so it is not UTF-8, and any type refuses
      // it.
      const problem = profileBatch.addValue(jsonKey, start, end, type ?? 'string')
      if (problem !== undefined) note(this.#found, number, columnProblem(index, problem.message))
    }
    const isValid = this.#found.rows.length === precedingProblems
    if (isValid) profileBatch.keepRow(user)
    else profileBatch.dropRow()
    return isValid
  }

  /**
   * Returns the columns to check in a row with `count` values.
   *
   * The columns of a short row are in file order, so Postgres has to sort the keys of its document. Sorting costs less
   * than going through the columns that the row lacks: a header may have 50,000 columns, and each row one value.
   */
  #columnsOf(count: number): readonly ProfileColumn[] {
    const { names, profiles, inDocumentOrder } = this.#columns
    return count < names.length / 2 ? profiles.slice(0, count) : inDocumentOrder
  }
}

function note({ rows, problems }: FoundProblems, row: number, problem: Problem): void {
  rows.push(row)
  problems.push(problem)
}

/** Notes the unregistered columns in which a row has a value to store. Removing a value registers no key. */
function noteUse(cells: Cells, columns: Columns, { toRegister }: Findings): void {
  for (const column of columns.unregistered) {
    if (column.index >= cells.count) return
    const [start, end] = [cells.start[column.index] ?? 0, cells.end[column.index] ?? 0]
    if (start !== end && !columns.isClearMarker(cells.bytes, start, end)) toRegister.add(column)
  }
}
