import { joinBytes } from './bytes.ts'
import { closingQuote, findByte } from './find-byte.ts'
import { contentEnd, pastEmptyValues } from './line-ends.ts'
import { wellFormed } from './record-problems.ts'
import { comma, lf, quote } from './special-bytes.ts'

/** Records that follow each other in a file. There may be blank lines between them. */
export interface Records<Bytes extends Uint8Array> {
  /** The records as uploaded; only the first 1,024 bytes of a record that is too long. */
  readonly bytes: Bytes
  /** Absolute offset of the first of `bytes` in the uncompressed stream. */
  readonly start: number
  /** Absolute offset after each record and its line break in the uncompressed stream. Reading can resume there. */
  readonly rowEnd: Float64Array
  /** Columns of the file. Whatever follows the last column of a record is one cell with the unparsed bytes. */
  readonly columns: number
  /** Why each record cannot be read, for `problemOf`; absent if all records can be read. */
  readonly problems?: Uint8Array
}

/**
 * Returns the offset in `bytes` at which a row begins, with the preceding blank lines; for the number of rows, where
 * the last one ends. The offset is beyond the end of `bytes` after a row that is too long.
 *
 * @example
 * ```ts
 * const [block] = await Array.fromAsync(readRows(Readable.from([Buffer.from('alice,34\n"bob",35\n')])))
 * rowOffset(block, 1) // → 9
 * ```
 */
export function rowOffset({ start, rowEnd }: Records<Uint8Array>, row: number): number {
  return row === 0 ? 0 : (rowEnd[row - 1] ?? 0) - start
}

/**
 * The cells of one row, as offsets. No object is created for a cell: an import's speed depends on that.
 *
 * The value of a cell, without enclosing quotes, is `bytes` from `start` to `end` (exclusive) of its index. The arrays
 * may be longer than the number of cells.
 */
export interface ByteCells<Bytes extends Uint8Array> {
  readonly bytes: Bytes
  /** Number of cells. A row has as many as it has values, however many columns the header has. */
  readonly count: number
  readonly start: Uint32Array
  readonly end: Uint32Array
  /** As in `Records`: the cell with this index, if there is one, has the unparsed bytes after the last column. */
  readonly columns: number
  /** Whether the row can be read. A row that cannot is split at every separator, and its quotes are data. */
  readonly isWellFormed: boolean
}

/**
 * Splits rows into cells, one row at a time. The cells are valid until the next row is split.
 *
 * Only rows whose cells somebody reads are split: most rows of an import that changes little are compared as a whole.
 */
export class ByteSplitter<Bytes extends Uint8Array> implements ByteCells<Bytes> {
  bytes = joinBytes([]) as Bytes
  count = 0
  start = new Uint32Array(64)
  end = new Uint32Array(64)
  columns = 0
  isWellFormed = true
  /** The bytes of a row in which doubled quotes are single. */
  #copy = joinBytes([]) as Bytes
  readonly #separator: number

  /** Accepts the byte between two values. */
  constructor(separator: number = comma) {
    this.#separator = separator
  }

  /** Splits a row, or only its first cells. */
  split(records: Records<Bytes>, row: number, most = Number.POSITIVE_INFINITY): ByteCells<Bytes> {
    const { bytes, problems } = records
    // Only the first bytes of a record that is too long are there.
    // `| 0` makes the offset a small integer, which speeds up everything that follows.
    const rowEnd = Math.min(rowOffset(records, row + 1), bytes.length) | 0
    this.bytes = bytes
    this.columns = records.columns
    this.isWellFormed = problems === undefined || problems[row] === wellFormed
    const start = pastBlankLines(bytes, rowOffset(records, row) | 0, this.#separator)
    this.#split(start, contentEnd(bytes, start, rowEnd), most)
    return this
  }

  /** Splits a row between two offsets of {@link bytes}, without its line break. */
  #split(from: number, to: number, most: number): void {
    const { bytes, columns, isWellFormed } = this
    const separator = this.#separator
    let at = from
    this.count = 0
    while (this.count < most) {
      if (this.count === this.start.length) this.#makeRoom()
      let start = at
      let end: number
      if (this.count === columns) {
        end = at = to
      } else if (isWellFormed && bytes[at] === quote) {
        start = at + 1
        end = findByte(bytes, quote, start)
        at = end + 1
        if (bytes[at] === quote) {
          if (bytes !== this.#copy) {
            this.#splitCopy(from, to, most)
            return
          }
          at = closingQuote(bytes, at) + 1
          end = undouble(bytes, end, at - 1)
        }
      } else {
        end = at = pastData(bytes, at, to, separator)
      }
      this.start[this.count] = start
      this.end[this.count++] = end
      if (at >= to) return
      at++ // the separator
    }
  }

  /** Splits a copy of the row, because doubled quotes are made single in place. */
  #splitCopy(from: number, to: number, most: number): void {
    const length = to - from
    if (this.#copy.length <= length) this.#copy = joinBytes([new Uint8Array(2 * length)]) as Bytes
    this.#copy.set(this.bytes.subarray(from, to))
    // The byte after the row is read when its last cell is quoted.
    this.#copy[length] = lf
    this.bytes = this.#copy
    this.#split(0, length, most)
  }

  #makeRoom(): void {
    this.start = enlarged(this.start)
    this.end = enlarged(this.end)
  }
}

/**
 * Returns the original bytes of each value of a row (service.md, Bulk import CSV file; design.md §3, CSV dialect).
 *
 * @example
 * ```ts
 * const [block] = await Array.fromAsync(readRows(Readable.from([Buffer.from('alice,,"a, b"\n')])))
 * cellsOf(block, 0).map(String) // → ["alice", "", "a, b"]
 * ```
 */
export function cellsOf<Bytes extends Uint8Array>(records: Records<Bytes>, row: number): Bytes[] {
  const { bytes, count, start, end } = new ByteSplitter<Bytes>().split(records, row)
  return Array.from({ length: count }, (_, index) => bytes.subarray(start[index], end[index]) as Bytes)
}

/** Returns the offset of the first line at or after `from` in which a value is not empty. */
function pastBlankLines(bytes: Uint8Array, from: number, separator: number): number {
  let at = from
  for (;;) {
    const past = pastEmptyValues(bytes, at, separator)
    if (bytes[past] !== lf) return at
    at = past + 1
  }
}

/** Returns the offset of the first separator, or `end`. */
function pastData(bytes: Uint8Array, from: number, end: number, separator: number): number {
  let at = from
  while (at < end && bytes[at] !== separator) at++
  return at
}

/**
 * Keeps one quote of two between two offsets, and moves the following bytes up. Returns the offset after them. The row
 * stays valid UTF-8, because quotes fill the gap.
 */
function undouble(bytes: Uint8Array, from: number, to: number): number {
  let end = from
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0
    if (byte === quote) at++
    bytes[end++] = byte
  }
  bytes.fill(quote, end, to)
  return end
}

function enlarged(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2)
  larger.set(array)
  return larger
}
