import { findByte } from './find-byte.ts'
import { wellFormed } from './record-problems.ts'
import type { CellOffsets } from './row-block.ts'
import { comma, cr, lf, quote } from './special-bytes.ts'

/** Records to split into cells. */
export interface Records {
  bytes: Buffer
  /** Offset of each record's end, after its line break. There may be blank lines between records. */
  recordEnds: ArrayLike<number>
  /** Offset of the first byte, counted as the offsets in `recordEnds` are. Default 0. */
  start?: number
  /** Why each record cannot be read, as in a `RecordBlock`. */
  problems?: Uint8Array
  /** Number of columns of the file. Everything after a record's last column becomes one cell. Default: no limit. */
  columns?: number
}

/**
 * Splits records into cells.
 *
 * A record that cannot be read is split at every comma, and its quotes are data. The bytes of the result are the given
 * bytes, or a copy in which doubled quotes are single.
 */
export function splitRecords(records: Records): CellOffsets {
  return new Splitter(records).run(records)
}

/** Returns the length of a record or line without its trailing LF or CRLF, bytes. */
export function recordLength(line: Buffer): number {
  return contentEnd(line, line.length)
}

/**
 * Returns the offset at which a record's content ends, before a trailing LF or CRLF. Accepts the offset of the record's
 * end.
 */
function contentEnd(bytes: Buffer, recordEnd: number): number {
  if (bytes[recordEnd - 1] !== lf) return recordEnd
  return bytes[recordEnd - 2] === cr ? recordEnd - 2 : recordEnd - 1
}

/** Buffers for the offsets of one call. They are reused, because the number of cells is not known in advance. */
let starts = new Uint32Array(2 ** 16)
let ends = new Uint32Array(2 ** 16)

class Splitter {
  #bytes: Buffer
  #isCopy = false
  readonly #columns: number
  #count = 0

  constructor({ bytes, columns = Number.POSITIVE_INFINITY }: Records) {
    this.#bytes = bytes
    this.#columns = columns
  }

  run({ recordEnds, start: base = 0, problems }: Records): CellOffsets {
    const records = recordEnds.length
    const firstCell = new Uint32Array(records + 1)
    let start = 0
    for (let record = 0; record < records; record++) {
      // The block holds only the first bytes of a record that is too long.
      // `| 0` makes the offset a small integer, which speeds up everything that follows.
      const recordEnd = Math.min((recordEnds[record] ?? 0) - base, this.#bytes.length) | 0
      const isWellFormed = problems === undefined || problems[record] === wellFormed
      this.#splitRecord(pastBlankLines(this.#bytes, start), contentEnd(this.#bytes, recordEnd), isWellFormed)
      firstCell[record + 1] = this.#count
      start = recordEnd
    }
    return {
      bytes: this.#bytes,
      firstCell,
      cellStart: starts.slice(0, this.#count),
      cellEnd: ends.slice(0, this.#count),
      columns: this.#columns,
      ...(problems !== undefined && { problems }),
    }
  }

  /**
   * Splits the record between two offsets, without its line break. Everything that follows the last column is one cell.
   */
  #splitRecord(start: number, end: number, isWellFormed: boolean): void {
    const last = this.#count + this.#columns
    let at = start
    for (;;) {
      if (this.#count === starts.length) makeRoom()
      const isRest = this.#count === last
      if (isWellFormed && !isRest && this.#bytes[at] === quote) {
        at = this.#unquote(at + 1, end)
      } else {
        starts[this.#count] = at
        at = isRest ? end : pastData(this.#bytes, at, end)
        ends[this.#count++] = at
      }
      if (at >= end) return
      at++ // the comma
    }
  }

  /** Adds the quoted cell whose content begins at `start`. Returns the offset after its closing quote. */
  #unquote(start: number, end: number): number {
    let at = findByte(this.#bytes, quote, start)
    let valueEnd = at
    if (this.#bytes[at + 1] === quote) {
      if (!this.#isCopy) {
        this.#bytes = Buffer.from(this.#bytes)
        this.#isCopy = true
      }
      const bytes = this.#bytes
      // Keeps one quote of two, and moves the following bytes up.
      while (bytes[at + 1] === quote) {
        bytes[valueEnd++] = quote
        for (at += 2; bytes[at] !== quote && at < end; at++) bytes[valueEnd++] = bytes[at] ?? 0
      }
    }
    starts[this.#count] = start
    ends[this.#count++] = valueEnd
    return at + 1
  }
}

function pastBlankLines(bytes: Buffer, from: number): number {
  let at = from
  for (;;) {
    if (bytes[at] === lf) at += 1
    else if (bytes[at] === cr && bytes[at + 1] === lf) at += 2
    else return at
  }
}

function makeRoom(): void {
  starts = enlarged(starts)
  ends = enlarged(ends)
}

/** Returns the offset of the first comma, or `end`. */
function pastData(bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && bytes[at] !== comma) at++
  return at
}

function enlarged(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2)
  larger.set(array)
  return larger
}
