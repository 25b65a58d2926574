import type { ValueType } from '@sluice/contract'
import { type CellOffsets, cellCount, cellsOf, isText, type RowBlock } from '@sluice/csv'
import { ColumnInference, type ProfileBatch, type UserStates } from '@sluice/profiles'
import type { RowBatch } from './batches.ts'
import { type Columns, type ProfileColumn, settledTypes } from './columns.ts'

/** A batch after its cells were checked; which of its users are registered is not known yet. */
export interface CheckedBatch extends RowBatch {
  /** What its rows do to profiles. */
  updates: ProfileBatch
  /** By row, its user's number in `updates`; {@link noUser} where the ID cannot be looked up. */
  users: Int32Array
  /** What is wrong with rows, by row and then by column index: {@link wholeRow} comes before all columns. */
  problems: Map<number, RowProblems>
  /** For each column that awaits registration and has values in valid rows: the users of those rows. */
  awaitingUse: Map<ProfileColumn, Set<number>>
  /** Types of the columns, by key, as far as they are settled after this batch. */
  types: Record<string, ValueType>
}

type RowProblems = Map<number, string>

const noUser = -1

/** Place of a message about the row as a whole: before every column. */
const wholeRow = -1

const unreadable = {
  'unclosed quote': 'quote is not closed',
  'too long': 'row is too long',
} satisfies Record<NonNullable<RowBlock['problem']>, string>

/**
 * Settles the types of columns that had no value so far, from the values of this batch (design.md §3, Inference).
 * Changes `columns`.
 */
export function settleTypes({ slices }: RowBatch, columns: Columns): void {
  for (const column of columns.profiles) {
    if (column.type !== undefined) continue
    const inference = new ColumnInference()
    for (const { block, from, to } of slices) {
      if (block.problem !== undefined) continue
      for (let row = from; row < to; row++) {
        const cell = cellOf(block, row, column.index)
        if (cell !== undefined) inference.add(cell)
      }
    }
    column.type = inference.type()
  }
}

/** The bytes of a value; undefined where the row has none in this column. */
function cellOf(block: CellOffsets, row: number, column: number): Buffer | undefined {
  if (column >= cellCount(block, row)) return undefined
  const cell = (block.firstCell[row] ?? 0) + column
  const [start, end] = [block.cellStart[cell] ?? 0, block.cellEnd[cell] ?? 0]
  return start === end ? undefined : block.bytes.subarray(start, end)
}

/**
 * Checks every cell of the rows and builds what is to be merged, in `updates`, which must be empty. Later rows of a user
 * win, key by key.
 */
export function checkRows(batch: RowBatch, columns: Columns, updates: ProfileBatch): CheckedBatch {
  const checked: CheckedBatch = {
    ...batch,
    updates,
    users: new Int32Array(batch.rows).fill(noUser),
    problems: new Map(),
    awaitingUse: new Map(),
    types: settledTypes(columns),
  }
  const awaiting = columns.profiles.filter((column) => !column.registered && column.type !== undefined)
  let number = 0
  for (const { block, from, to } of batch.slices) {
    for (let row = from; row < to; row++, number++) {
      if (block.problem !== undefined) {
        checked.problems.set(number, new Map([[wholeRow, unreadable[block.problem]]]))
        continue
      }
      const problems = checkRow(block, row, columns, checked, number)
      if (problems !== undefined) checked.problems.set(number, problems)
      else if (awaiting.length > 0) noteUse(block, row, awaiting, checked, number)
    }
  }
  return checked
}

/** Checks one row and puts it into the batch's updates. Gives what is wrong with it; undefined where nothing is. */
function checkRow(
  block: RowBlock,
  row: number,
  columns: Columns,
  { updates, users }: CheckedBatch,
  number: number,
): RowProblems | undefined {
  const first = block.firstCell[row] ?? 0
  const count = (block.firstCell[row + 1] ?? 0) - first
  let problems: RowProblems | undefined
  if (count > columns.names.length) problems = new Map([[wholeRow, 'too many values']])

  const idStart = block.cellStart[first + columns.userIdIndex] ?? 0
  const idEnd = block.cellEnd[first + columns.userIdIndex] ?? 0
  const idProblem = columns.userIdIndex < count ? userIdProblem(block, idStart, idEnd) : unregistered
  if (idProblem !== undefined) problems = withProblem(problems, columns.userIdIndex, idProblem)

  updates.beginRow()
  for (const { index, key, jsonKey, type } of columns.profiles) {
    if (index >= count) continue
    const start = block.cellStart[first + index] ?? 0
    const end = block.cellEnd[first + index] ?? 0
    if (start === end) continue
    // A column without a type has had no value that counts: this one is not UTF-8, which every type refuses.
    const problem = updates.addValue(jsonKey, block.bytes, start, end, type ?? 'string', block.isText)
    if (problem !== undefined) problems = withProblem(problems, index, `${key} ${problem.message}`)
  }

  if (idProblem === undefined) {
    const user = updates.userNumber(block.bytes, idStart, idEnd)
    users[number] = user
    if (problems === undefined) updates.keepRow(user)
    else updates.dropRow()
  } else {
    updates.dropRow()
  }
  return problems
}

const unregistered = 'user_id is unregistered user'

function userIdProblem(block: RowBlock, start: number, end: number): string | undefined {
  if (start === end) return unregistered
  return block.isText || isText(block.bytes.subarray(start, end)) ? undefined : 'user_id should be UTF-8'
}

/** Most rows have no problem, and then no map of them. */
function withProblem(problems: RowProblems | undefined, column: number, message: string): RowProblems {
  return (problems ?? new Map<number, string>()).set(column, message)
}

function noteUse(
  block: RowBlock,
  row: number,
  awaiting: readonly ProfileColumn[],
  { awaitingUse, users }: CheckedBatch,
  number: number,
): void {
  for (const column of awaiting) {
    if (cellOf(block, row, column.index) === undefined) continue
    const userSet = awaitingUse.get(column) ?? new Set()
    awaitingUse.set(column, userSet.add(users[number] ?? noUser))
  }
}

/** An invalid row, with its messages in column order. */
export interface InvalidRow {
  cells: Buffer[]
  messages: string[]
}

/** The rows that are not applied, in file order, once it is known which of the batch's users are registered. */
export function* invalidRows(batch: CheckedBatch, states: UserStates, columns: Columns): Generator<InvalidRow> {
  let number = 0
  for (const { block, from, to } of batch.slices) {
    for (let row = from; row < to; row++, number++) {
      const user = batch.users[number] ?? noUser
      const isUnregistered = user !== noUser && !states.isRegistered(user)
      const problems = batch.problems.get(number)
      if (problems === undefined && !isUnregistered) continue
      const all = [...(problems ?? []), ...(isUnregistered ? [[columns.userIdIndex, unregistered] as const] : [])]
      const messages = all.sort(([a], [b]) => a - b).map(([, message]) => message)
      yield { cells: cellsOf(block, row), messages }
    }
  }
}
