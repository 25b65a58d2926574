import { setImmediate } from 'node:timers/promises'
import { cellCount, problemOf, type RecordProblem, type RowBlock } from '@sluice/csv'
import type { ProfileBatch, UserStates } from '@sluice/profiles'
import type { Columns, ProfileColumn } from '../file/columns.ts'
import { hasValue, noUser, type PreparedBatch, userIdProblem } from './batch.ts'
import { columnProblem, type Problem, rowProblem } from './problems.ts'

/** What came of a look at the cells of a batch. */
export interface Findings {
  problems: FoundProblems
  /** Columns that await registration and have values in valid rows of registered users. */
  toRegister: Set<ProfileColumn>
}

/** What is wrong with rows: problem `i` is one of the row with the number `rows[i]` in the batch. The rows are in order. */
interface FoundProblems {
  rows: number[]
  problems: Problem[]
}

const unreadable = {
  'unclosed quote': rowProblem('quote is not closed'),
  'too long': rowProblem('row is too long'),
} satisfies Record<RecordProblem, Problem>

const tooManyValues = rowProblem('too many values')

/**
 * Checks every cell of the rows and puts what is to be written into the batch's updates. Rows whose values are known to be
 * held by the profile are passed over: they were valid when they were applied. So are rows of users who were deleted after the
 * file was sent. Others come to their turn between blocks.
 */
export async function checkRows(batch: PreparedBatch, columns: Columns, states: UserStates): Promise<Findings> {
  batch.updates.clearValues()
  const findings: Findings = { problems: { rows: [], problems: [] }, toRegister: new Set() }
  const awaiting = columns.unregistered
  const check = new RowCheck(batch, columns, findings.problems)
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
      const isValid = check.row(block, row, number, user)
      if (isValid && awaiting.length > 0 && states.isRegistered(user)) noteUse(block, row, awaiting, findings)
    }
    await setImmediate()
  }
  return findings
}

/** Checks rows one by one, and puts their values into the batch's updates. */
class RowCheck {
  readonly #updates: ProfileBatch
  readonly #columns: Columns
  readonly #found: FoundProblems

  constructor({ updates }: PreparedBatch, columns: Columns, found: FoundProblems) {
    this.#updates = updates
    this.#columns = columns
    this.#found = found
  }

  /** Checks the row of this number in the batch. Notes what is wrong with it; true where nothing is. */
  row(block: RowBlock, row: number, number: number, user: number): boolean {
    const { names, jsonKeys, userIdIndex } = this.#columns
    const updates = this.#updates
    const before = this.#found.rows.length
    const first = block.firstCell[row] ?? 0
    const count = (block.firstCell[row + 1] ?? 0) - first
    if (count > names.length) note(this.#found, number, tooManyValues)
    const idProblem = user === noUser ? userIdProblem(block, row, userIdIndex) : undefined
    if (idProblem !== undefined) note(this.#found, number, idProblem)

    updates.beginRow()
    for (const { index, type } of this.#columnsOf(count)) {
      const jsonKey = jsonKeys[index]
      if (index >= count || jsonKey === undefined) continue
      const start = block.cellStart[first + index] ?? 0
      const end = block.cellEnd[first + index] ?? 0
      if (start === end) continue
      // A column without a type has had no value that counts: this one is not UTF-8, which every type refuses.
      const problem = updates.addValue(jsonKey, block.bytes, start, end, type ?? 'string', block.isText)
      if (problem !== undefined) note(this.#found, number, columnProblem(index, problem.message))
    }
    const isValid = this.#found.rows.length === before
    if (isValid) updates.keepRow(user)
    else updates.dropRow()
    return isValid
  }

  /**
   * The columns of a row with so many values. Postgres sorts the keys of a document that come in the order of the file. That
   * costs less than to look at columns that a short row has not: a header may have 50,000, and each row one value.
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

function noteUse(block: RowBlock, row: number, awaiting: readonly ProfileColumn[], { toRegister }: Findings): void {
  const count = cellCount(block, row)
  for (const column of awaiting) {
    if (column.index >= count) return
    if (hasValue(block, row, column.index)) toRegister.add(column)
  }
}
