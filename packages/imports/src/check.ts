import { setImmediate } from 'node:timers/promises'
import type { RowBlock } from '@sluice/csv'
import type { UserStates } from '@sluice/profiles'
import { hasValue, noUser, type PreparedBatch, unregistered, userIdProblem } from './batch.ts'
import type { Columns, ProfileColumn } from './columns.ts'

/** What came of a look at the cells of a batch. */
export interface Findings {
  /** What is wrong with rows, by row and then by column index: {@link wholeRow} comes before all columns. */
  problems: Map<number, RowProblems>
  /** Columns that await registration and have values in valid rows of registered users. */
  toRegister: Set<ProfileColumn>
}

type RowProblems = Map<number, string>

/** Place of a message about the row as a whole: before every column. */
const wholeRow = -1

const unreadable = {
  'unclosed quote': 'quote is not closed',
  'too long': 'row is too long',
} satisfies Record<NonNullable<RowBlock['problem']>, string>

/**
 * Checks every cell of the rows and puts what is to be written into the batch's updates. Rows whose values are known to be
 * held by the profile are passed over: they were valid when they were applied. Others come to their turn between blocks.
 */
export async function checkRows(batch: PreparedBatch, columns: Columns, states: UserStates): Promise<Findings> {
  batch.updates.clearValues()
  const findings: Findings = { problems: new Map(), toRegister: new Set() }
  const awaiting = columns.profiles.filter((column) => !column.registered && column.type !== undefined)
  let number = 0
  for (const { block, from, to } of batch.slices) {
    for (let row = from; row < to; row++, number++) {
      if (block.problem !== undefined) {
        findings.problems.set(number, new Map([[wholeRow, unreadable[block.problem]]]))
        continue
      }
      const user = batch.users[number] ?? noUser
      if (user !== noUser && states.isUpToDate(user)) continue
      const problems = checkRow(block, row, columns, batch, user)
      if (problems !== undefined) findings.problems.set(number, problems)
      else if (awaiting.length > 0 && states.isRegistered(user)) noteUse(block, row, awaiting, findings)
    }
    await setImmediate()
  }
  return findings
}

/** Checks one row and puts its values into the batch's updates. Gives what is wrong with it; undefined where nothing is. */
function checkRow(
  block: RowBlock,
  row: number,
  columns: Columns,
  { updates }: PreparedBatch,
  user: number,
): RowProblems | undefined {
  const first = block.firstCell[row] ?? 0
  const count = (block.firstCell[row + 1] ?? 0) - first
  let problems: RowProblems | undefined
  if (count > columns.names.length) problems = new Map([[wholeRow, 'too many values']])
  const idProblem = user === noUser ? userIdProblem(block, row, columns.userIdIndex) : undefined
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
  if (problems === undefined) updates.keepRow(user)
  else updates.dropRow()
  return problems
}

/** Most rows have no problem, and then no map of them. */
function withProblem(problems: RowProblems | undefined, column: number, message: string): RowProblems {
  return (problems ?? new Map<number, string>()).set(column, message)
}

function noteUse(block: RowBlock, row: number, awaiting: readonly ProfileColumn[], { toRegister }: Findings): void {
  for (const column of awaiting) if (hasValue(block, row, column.index)) toRegister.add(column)
}

/** An invalid row, with its messages in column order. */
export interface InvalidRow {
  block: RowBlock
  row: number
  messages: readonly string[]
}

/** The messages of a row whose user alone is wrong. */
const alone = [unregistered]

/** The messages of a row by column, with that of a user who is not registered where the column of user IDs is given. */
function inOrder(problems: RowProblems, userIdIndex?: number): readonly string[] {
  if (userIdIndex === undefined && problems.size === 1) return [...problems.values()]
  const all = [...problems, ...(userIdIndex === undefined ? [] : [[userIdIndex, unregistered] as const])]
  return all.sort(([a], [b]) => a - b).map(([, message]) => message)
}

/** The rows that are not applied, in file order. */
export function* invalidRows(
  { slices, users }: PreparedBatch,
  { problems }: Findings,
  states: UserStates,
  { userIdIndex }: Columns,
): Generator<InvalidRow> {
  let number = 0
  for (const { block, from, to } of slices) {
    for (let row = from; row < to; row++, number++) {
      const user = users[number] ?? noUser
      const isUnregistered = user !== noUser && !states.isRegistered(user)
      const found = problems.get(number)
      if (found === undefined && !isUnregistered) continue
      if (isUnregistered) yield { block, row, messages: found === undefined ? alone : inOrder(found, userIdIndex) }
      else yield { block, row, messages: inOrder(found ?? new Map()) }
    }
  }
}
