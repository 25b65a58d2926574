import { isUtf8 } from 'node:buffer'
import type { Row } from '@sluice/csv'
import { ColumnInference, encodeCell, type UserUpdate } from '@sluice/profiles'
import type { Columns, ProfileColumn } from './columns.ts'

/** A row of a batch after its cells were checked; whether its user is registered is not known yet. */
interface CheckedRow {
  row: Row
  /** Index of its user in the batch's updates; undefined where the ID cannot be looked up. */
  user: number | undefined
  /** What is wrong with it, by column index: `tooMany` comes before all columns. Undefined for a valid row. */
  problems: Map<number, string> | undefined
}

/** Checked rows, and what they do to each user. */
export interface CheckedBatch {
  rows: CheckedRow[]
  /** One per distinct user, in order of appearance. */
  updates: UserUpdate[]
  /** For each column that awaits registration and has values in valid rows: the users of those rows. */
  awaitingUse: Map<ProfileColumn, Set<number>>
}

/** Place of a message about the row as a whole: before every column. */
const wholeRow = -1

const rowProblems = {
  'unclosed quote': 'quote is not closed',
  'too long': 'row is too long',
} satisfies Record<NonNullable<Row['problem']>, string>

/**
 * Settles the types of columns that had no value so far, from the values of this batch (design.md §3, Inference).
 * Changes `columns`.
 */
export function settleTypes(rows: readonly Row[], columns: Columns): void {
  for (const column of columns.profiles) {
    if (column.type !== undefined) continue
    const inference = new ColumnInference()
    for (const { cells, problem } of rows) {
      const cell = cells[column.index]
      if (problem === undefined && cell !== undefined && cell.length > 0) inference.add(cell)
    }
    column.type = inference.type()
  }
}

/** Checks every cell of the rows and builds what is to be merged. Later rows of a user win, key by key. */
export function checkRows(rows: readonly Row[], columns: Columns): CheckedBatch {
  const users = new Map<string, number>()
  const members: string[][] = []
  const userIds: Buffer[] = []
  const awaitingUse = new Map<ProfileColumn, Set<number>>()
  const awaiting = columns.profiles.filter((column) => !column.registered && column.type !== undefined)

  // Most rows have no problem and share one empty map.
  let problems = new Map<number, string>()
  const checked = rows.map((row): CheckedRow => {
    if (row.problem !== undefined) {
      return { row, user: undefined, problems: new Map([[wholeRow, rowProblems[row.problem]]]) }
    }
    if (row.cells.length > columns.names.length) problems.set(wholeRow, 'too many values')
    const userId = checkUserId(row.cells[columns.userIdIndex], columns.userIdIndex, problems)
    const document = encodeRow(row.cells, columns.profiles, problems)
    let user: number | undefined
    if (userId !== undefined) {
      const name = userId.toString('latin1')
      user = users.get(name) ?? userIds.push(userId) - 1
      users.set(name, user)
      members[user] ??= []
      if (problems.size === 0 && document !== '') members[user]?.push(document)
    }
    if (problems.size > 0) {
      const found = problems
      problems = new Map()
      return { row, user, problems: found }
    }
    if (user !== undefined) noteUse(row.cells, awaiting, user, awaitingUse)
    return { row, user, problems: undefined }
  })

  const updates = userIds.map((userId, user) => ({ userId, document: toDocument(members[user] ?? []) }))
  return { rows: checked, updates, awaitingUse }
}

/** Gives the ID if it can be looked up; else says what is wrong with it. */
function checkUserId(cell: Buffer | undefined, index: number, problems: Map<number, string>): Buffer | undefined {
  if (cell === undefined || cell.length === 0) {
    problems.set(index, unregistered)
    return undefined
  }
  if (!isUtf8(cell) || cell.includes(0)) {
    problems.set(index, 'user_id should be UTF-8')
    return undefined
  }
  return cell
}

/** Gives the row's values as members of a JSON object; notes what is wrong with its cells. */
function encodeRow(cells: readonly Buffer[], columns: readonly ProfileColumn[], problems: Map<number, string>): string {
  let document = ''
  for (const { index, key, jsonKey, type } of columns) {
    const cell = cells[index]
    if (cell === undefined || cell.length === 0) continue
    // A column without a type has had no value that counts: this one is not UTF-8, which every type refuses.
    const value = encodeCell(cell, type ?? 'string')
    if (typeof value !== 'string') problems.set(index, `${key} ${value.message}`)
    else document += document === '' ? jsonKey + value : `,${jsonKey}${value}`
  }
  return document
}

function noteUse(
  cells: readonly Buffer[],
  awaiting: readonly ProfileColumn[],
  user: number,
  awaitingUse: Map<ProfileColumn, Set<number>>,
): void {
  for (const column of awaiting) {
    if ((cells[column.index]?.length ?? 0) === 0) continue
    const userSet = awaitingUse.get(column) ?? new Set()
    awaitingUse.set(column, userSet.add(user))
  }
}

/** A key that stands twice in a JSON object has its last value for Postgres, which is just the rule for rows. */
function toDocument(members: readonly string[]): string | null {
  return members.length === 0 ? null : `{${members.join(',')}}`
}

const unregistered = 'user_id is unregistered user'

/** An invalid row, with its messages in column order. */
export interface InvalidRow {
  row: Row
  messages: string[]
}

/** The rows that are not applied, in file order, once it is known which of the batch's users are registered. */
export function invalidRows(batch: CheckedBatch, registered: readonly boolean[], columns: Columns): InvalidRow[] {
  const invalid: InvalidRow[] = []
  for (const { row, user, problems } of batch.rows) {
    const isUnregistered = user !== undefined && registered[user] !== true
    if (problems === undefined && !isUnregistered) continue
    const all = [...(problems ?? []), ...(isUnregistered ? [[columns.userIdIndex, unregistered] as const] : [])]
    invalid.push({ row, messages: all.sort(([a], [b]) => a - b).map(([, message]) => message) })
  }
  return invalid
}
