import { setImmediate } from 'node:timers/promises'
import type { RowBlock } from '@sluice/csv'
import type { ProfileBatch, RowProblem, UserStates } from '@sluice/profiles'
import { hasValue, noUser, type PreparedBatch, unregistered, userIdProblem } from './batch.ts'
import type { Columns, ProfileColumn } from './columns.ts'

/** What came of a look at the cells of a batch. */
export interface Findings {
  /** What is wrong with rows, in their order. */
  problems: Problem[]
  /** Columns that await registration and have values in valid rows of registered users. */
  toRegister: Set<ProfileColumn>
}

/** Something wrong with a row of the batch, in a column: {@link wholeRow} comes before all of them. */
interface Problem {
  row: number
  column: number
  message: string
}

/** Place of a message about the row as a whole: before every column. */
const wholeRow = -1

const unreadable = {
  'unclosed quote': 'quote is not closed',
  'too long': 'row is too long',
} satisfies Record<NonNullable<RowBlock['problem']>, string>

/**
 * Checks every cell of the rows and puts what is to be written into the batch's updates. Rows whose values are known to be
 * held by the profile are passed over: they were valid when they were applied. So are rows of users who were deleted after the
 * file was sent. Others come to their turn between blocks.
 */
export async function checkRows(batch: PreparedBatch, columns: Columns, states: UserStates): Promise<Findings> {
  batch.updates.clearValues()
  const findings: Findings = { problems: [], toRegister: new Set() }
  const awaiting = columns.profiles.filter((column) => !column.registered && column.type !== undefined)
  const check = new RowCheck(batch, columns, findings.problems)
  let number = 0
  for (const { block, from, to } of batch.slices) {
    for (let row = from; row < to; row++, number++) {
      if (block.problem !== undefined) {
        findings.problems.push({ row: number, column: wholeRow, message: unreadable[block.problem] })
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
  readonly #problems: Problem[]
  /** By column, messages that came up before: rows mostly fail for one of few reasons. */
  readonly #messages = new Map<ProfileColumn, Map<RowProblem, string>>()

  constructor({ updates }: PreparedBatch, columns: Columns, problems: Problem[]) {
    this.#updates = updates
    this.#columns = columns
    this.#problems = problems
  }

  /** Checks the row of this number in the batch. Notes what is wrong with it; true where nothing is. */
  row(block: RowBlock, row: number, number: number, user: number): boolean {
    const { names, inDocumentOrder, userIdIndex } = this.#columns
    const updates = this.#updates
    const before = this.#problems.length
    const first = block.firstCell[row] ?? 0
    const count = (block.firstCell[row + 1] ?? 0) - first
    if (count > names.length) this.#problems.push({ row: number, column: wholeRow, message: 'too many values' })
    const idProblem = user === noUser ? userIdProblem(block, row, userIdIndex) : undefined
    if (idProblem !== undefined) this.#problems.push({ row: number, column: userIdIndex, message: idProblem })

    updates.beginRow()
    for (const column of inDocumentOrder) {
      const { index, jsonKey, type } = column
      if (index >= count) continue
      const start = block.cellStart[first + index] ?? 0
      const end = block.cellEnd[first + index] ?? 0
      if (start === end) continue
      // A column without a type has had no value that counts: this one is not UTF-8, which every type refuses.
      const problem = updates.addValue(jsonKey, block.bytes, start, end, type ?? 'string', block.isText)
      if (problem === undefined) continue
      this.#problems.push({ row: number, column: index, message: this.#messageOf(column, problem) })
    }
    const isValid = this.#problems.length === before
    if (isValid) updates.keepRow(user)
    else updates.dropRow()
    return isValid
  }

  #messageOf(column: ProfileColumn, problem: RowProblem): string {
    const known = this.#messages.get(column)?.get(problem)
    if (known !== undefined) return known
    const message = `${column.key} ${problem.message}`
    const ofColumn = this.#messages.get(column) ?? new Map<RowProblem, string>()
    this.#messages.set(column, ofColumn.set(problem, message))
    return message
  }
}

function noteUse(block: RowBlock, row: number, awaiting: readonly ProfileColumn[], { toRegister }: Findings): void {
  for (const column of awaiting) if (hasValue(block, row, column.index)) toRegister.add(column)
}

/** An invalid row, with its messages in column order. */
export interface InvalidRow {
  block: RowBlock
  row: number
  messages: readonly string[]
  /** It may be about a user who was deleted after the file was sent: it is counted, and stands in no error file. */
  isSecret: boolean
}

/** The rows that are not applied, in file order. */
export function* invalidRows(
  { slices, users }: PreparedBatch,
  { problems }: Findings,
  states: UserStates,
  { userIdIndex }: Columns,
): Generator<InvalidRow> {
  let number = 0
  let next = 0
  for (const { block, from, to } of slices) {
    for (let row = from; row < to; row++, number++) {
      const first = next
      while (problems[next]?.row === number) next++
      const user = users[number] ?? noUser
      const isUnregistered = user !== noUser && !states.isRegistered(user)
      if (next === first && !isUnregistered) continue
      const found = problems.slice(first, next)
      if (isUnregistered) found.push({ row: number, column: userIdIndex, message: unregistered })
      if (found.length > 1) found.sort((a, b) => a.column - b.column)
      const isSecret = states.followDeletion && block.problem !== undefined
      yield { block, row, messages: found.map(({ message }) => message), isSecret }
    }
  }
}
