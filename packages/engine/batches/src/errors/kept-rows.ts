import { serviceErrorsColumn } from '@sluice/contract'
import { type Cells, LineWriter } from '@sluice/csv'
import { Messages } from './messages.ts'
import type { Problem } from './problems.ts'

/*
 * The short form of invalid rows, in which Postgres keeps them until the error file is made. It leaves out what the
 * header and the catalogue of problems can restore: the texts of messages, and commas for missing values. It therefore
 * takes about as many bytes as the rows themselves, whatever their messages are.
 *
 * A row consists of:
 *
 * - a byte with the flags below
 * - its number in the file, as the difference to the preceding row
 * - the number of its problems, and each problem as the difference to the preceding problem
 * - the number of missing values
 * - the length of its cells in bytes, and the cells as they are in a line of the error file
 *
 * Numbers have a variable length: 7 bits per byte, lowest bits first.
 */

/** The row's number is one more than the number of the preceding row, and is left out. */
const isNext = 1
/** The row has the same problems as the preceding row, and they are left out. */
const hasSameProblems = 2
/** As many values are missing as in the preceding row, and their number is left out. */
const hasSameMissingValues = 4

/** Collects invalid rows in their short form. */
export class KeptRows {
  readonly #columns: number
  /** Index of the uploaded column SERVICE_ERRORS, which the messages replace; -1 if there is none. */
  readonly #reserved: number
  readonly #messages: Messages
  readonly #writer = new LineWriter()
  /** Of the preceding row: */
  #number = 0
  #problems: Problem[] = []
  #messageBytes = 0
  #missingValues = 0
  #lineBytes = 0

  /** Accepts the uploaded columns, and the names that messages use, if they use more. */
  constructor(columns: readonly string[], names: readonly string[] = columns) {
    this.#columns = columns.length
    this.#reserved = columns.indexOf(serviceErrorsColumn)
    this.#messages = new Messages(names)
  }

  /** Bytes that the rows take in the error file. */
  get lineBytes(): number {
    return this.#lineBytes
  }

  /** Adds a row. Accepts its number in the file (the first data row has 1), its sorted problems, and its cells. */
  add(number: number, problems: readonly Problem[], cells: Cells): void {
    const { count, start, end } = cells
    this.#addHead(number, problems, this.#missingValuesAfter(count))
    const cellBytes = this.#addCells(cells, (end[count - 1] ?? 0) - (start[0] ?? 0))
    // A comma follows the messages, and a line break follows the row.
    this.#lineBytes += this.#messageBytes + 1 + cellBytes + this.#missingValues + 1
  }

  /** Returns the rows in their short form, valid until the next row is added. */
  content(): Buffer {
    return this.#writer.bytes.subarray(0, this.#writer.length)
  }

  clear(): void {
    this.#writer.length = 0
    this.#number = 0
    this.#problems = []
    this.#messageBytes = 0
    this.#missingValues = 0
    this.#lineBytes = 0
  }

  /**
   * Returns how many values are missing in a row with this number of cells, compared with the header. The column
   * SERVICE_ERRORS does not count.
   */
  #missingValuesAfter(cells: number): number {
    const hasReserved = this.#reserved !== -1
    const written = hasReserved && this.#reserved < cells ? cells - 1 : cells
    const wanted = hasReserved ? this.#columns - 1 : this.#columns
    // In the error file, a row without cells looks like a row with one empty cell, because commas stand only between
    // cells.
    return Math.max(0, wanted - Math.max(1, written))
  }

  #addHead(number: number, problems: readonly Problem[], missingValues: number): void {
    const areSame = this.#haveSame(problems)
    const follows = number === this.#number + 1
    this.#writer.reserve(4 * longestNumber + problems.length * longestNumber)
    const { bytes, length } = this.#writer
    bytes[length] =
      (follows ? isNext : 0) |
      (areSame ? hasSameProblems : 0) |
      (missingValues === this.#missingValues ? hasSameMissingValues : 0)
    let to = length + 1
    if (!follows) to = writeNumber(bytes, to, number - this.#number)
    if (!areSame) {
      to = writeNumber(bytes, to, problems.length)
      let preceding = 0
      for (const problem of problems) {
        to = writeNumber(bytes, to, problem - preceding)
        preceding = problem
      }
      this.#problems = [...problems]
      this.#messageBytes = this.#messages.byteSize(problems)
    }
    if (missingValues !== this.#missingValues) to = writeNumber(bytes, to, missingValues)
    this.#writer.length = to
    this.#number = number
    this.#missingValues = missingValues
  }

  #haveSame(problems: readonly Problem[]): boolean {
    const preceding = this.#problems
    if (preceding.length !== problems.length) return false
    for (let index = 0; index < preceding.length; index++) if (preceding[index] !== problems[index]) return false
    return true
  }

  /**
   * Adds the length of a row's cells in bytes, then the cells. Returns the length.
   *
   * The length precedes the cells, but is known only once they are written. `expected` is their length in the uploaded
   * file, and decides how many bytes are kept free for the length. If the length takes more or fewer bytes, the cells
   * are moved.
   */
  #addCells(cells: Cells, expected: number): number {
    const writer = this.#writer
    const lengthAt = writer.length
    const room = numberLength(expected)
    writer.reserve(longestNumber)
    writer.length += room
    writer.cells(cells, this.#reserved)
    const from = lengthAt + room
    const length = writer.length - from
    const needed = numberLength(length)
    if (needed !== room) {
      writer.reserve(longestNumber)
      writer.bytes.copyWithin(lengthAt + needed, from, from + length)
      writer.length += needed - room
    }
    writeNumber(writer.bytes, lengthAt, length)
    return length
  }
}

/** A row in its short form. The reader reuses the object for each row. */
export interface KeptRow {
  number: number
  problems: readonly Problem[]
  /** How many values are missing in the row, compared with the header. */
  missingValues: number
  /** Range of the row's cells in the content. The bytes are as in a line of the error file. */
  start: number
  end: number
}

/** Reads rows in their short form. If the content is cut off, returns only the complete rows. */
export function* readKeptRows(content: Buffer): Generator<KeptRow, void, void> {
  const row: KeptRow = { number: 0, problems: [], missingValues: 0, start: 0, end: 0 }
  const reader = new NumberReader(content)
  while (reader.at < content.length) {
    const flags = reader.byte()
    row.number += flags & isNext ? 1 : reader.number()
    if (!(flags & hasSameProblems)) row.problems = readProblems(reader)
    if (!(flags & hasSameMissingValues)) row.missingValues = reader.number()
    const length = reader.number()
    row.start = reader.at
    row.end = reader.at + length
    if (row.end > content.length) return
    yield row
    reader.at = row.end
  }
}

function readProblems(reader: NumberReader): Problem[] {
  const problems: Problem[] = []
  for (let left = reader.number(), problem = 0; left > 0 && !reader.isOver; left--) {
    problem += reader.number()
    problems.push(problem)
  }
  return problems
}

class NumberReader {
  at = 0
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isOver(): boolean {
    return this.at > this.#bytes.length
  }

  /** Returns the next byte; 0 beyond the end, where `at` still advances. */
  byte(): number {
    return this.#bytes[this.at++] ?? 0
  }

  number(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte()
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }
}

/** Bytes of the longest number: row numbers are below 2^42. */
const longestNumber = 6

function numberLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) length++
  return length
}

/** Writes a number at an offset; there must be room for it. Returns the offset after it. */
function writeNumber(bytes: Buffer, at: number, value: number): number {
  let to = at
  let rest = value
  while (rest >= 128) {
    bytes[to++] = (rest % 128) | 128
    rest = Math.floor(rest / 128)
  }
  bytes[to++] = rest
  return to
}
