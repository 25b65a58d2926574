import { closingQuote, findByte } from './find-byte.ts'
import { contentEnd, pastEmptyValues } from './line-ends.ts'
import { wellFormed } from './record-problems.ts'
import { type Records, rowOffset } from './row-block.ts'
import { comma, lf, quote } from './special-bytes.ts'

/**
 * The cells of one row, as offsets. No object is created for a cell: an import's speed depends on that.
 *
 * The value of a cell, without enclosing quotes, is `bytes` from `start` to `end` (exclusive) of its index. The arrays
 * may be longer than the number of cells.
 */
export interface Cells {
  readonly bytes: Buffer
  /** Number of cells. A row has as many as it has values, however many columns the header has. */
  readonly count: number
  readonly start: Uint32Array
  readonly end: Uint32Array
  /** As in `Records`: the cell with this index, if there is one, has the unparsed bytes after the last column. */
  readonly columns: number
  /** Whether the row can be read. A row that cannot is split at every comma, and its quotes are data. */
  readonly isWellFormed: boolean
}

/**
 * Splits rows into cells, one row at a time. The cells are valid until the next row is split.
 *
 * Only rows whose cells somebody reads are split: most rows of an import that changes little are compared as a whole.
 *
 * @example
 * ```ts
 * const [block] = await Array.fromAsync(readRows(Readable.from([Buffer.from('alice,34,x,y\n')]), { columns: 2 }))
 * new RowSplitter().split(block, 0).count // → 3
 * ```
 */
export class RowSplitter implements Cells {
  bytes: Buffer = Buffer.alloc(0)
  count = 0
  start = new Uint32Array(64)
  end = new Uint32Array(64)
  columns = 0
  isWellFormed = true
  /** The bytes of a row in which doubled quotes are single. */
  #copy = Buffer.alloc(0)

  /** Splits a row, or only its first cells. */
  split(records: Records, row: number, most = Number.POSITIVE_INFINITY): Cells {
    const { bytes, problems } = records
    // Only the first bytes of a record that is too long are there.
    // `| 0` makes the offset a small integer, which speeds up everything that follows.
    const rowEnd = Math.min(rowOffset(records, row + 1), bytes.length) | 0
    this.bytes = bytes
    this.columns = records.columns
    this.isWellFormed = problems === undefined || problems[row] === wellFormed
    const start = pastBlankLines(bytes, rowOffset(records, row) | 0)
    this.#split(start, contentEnd(bytes, start, rowEnd), most)
    return this
  }

  /** Splits a row between two offsets of {@link bytes}, without its line break. */
  #split(from: number, to: number, most: number): void {
    const { bytes, columns, isWellFormed } = this
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
        end = at = pastData(bytes, at, to)
      }
      this.start[this.count] = start
      this.end[this.count++] = end
      if (at >= to) return
      at++ // the comma
    }
  }

  /** Splits a copy of the row, because doubled quotes are made single in place. */
  #splitCopy(from: number, to: number, most: number): void {
    const length = to - from
    if (this.#copy.length <= length) this.#copy = Buffer.alloc(2 * length)
    this.bytes.copy(this.#copy, 0, from, to)
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
export function cellsOf(records: Records, row: number): Buffer[] {
  const { bytes, count, start, end } = new RowSplitter().split(records, row)
  return Array.from({ length: count }, (_, index) => bytes.subarray(start[index], end[index]))
}

/** Returns the offset of the first line at or after `from` in which a value is not empty. */
function pastBlankLines(bytes: Buffer, from: number): number {
  let at = from
  for (;;) {
    const past = pastEmptyValues(bytes, at)
    if (bytes[past] !== lf) return at
    at = past + 1
  }
}

/** Returns the offset of the first comma, or `end`. */
function pastData(bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && bytes[at] !== comma) at++
  return at
}

/** Keeps one quote of two between two offsets, and moves the following bytes up. Returns the offset after them. */
function undouble(bytes: Buffer, from: number, to: number): number {
  let end = from
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0
    if (byte === quote) at++
    bytes[end++] = byte
  }
  return end
}

function enlarged(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2)
  larger.set(array)
  return larger
}
