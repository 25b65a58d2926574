import { COMMA, CR, LF, QUOTE } from './dialect.ts'
import { findByte } from './find-byte.ts'
import { wellFormed } from './record-problems.ts'
import type { CellOffsets } from './row-block.ts'

/** Records whose cells are wanted. */
export interface Records {
  bytes: Buffer
  /** Where each record ends, its line break included. There may be blank lines between records. */
  recordEnds: ArrayLike<number>
  /** The offset that the ends count for the first byte. Default 0. */
  start?: number
  /** Why records cannot be read, as in a `RecordBlock`. */
  problems?: Uint8Array
  /** Columns of the file: further cells of a record are not looked for. Default: no limit. */
  columns?: number
}

/**
 * Splits records into cells.
 *
 * A record that cannot be read is split at every comma, and quotes are data. The bytes of the result are the given bytes, or a
 * copy in which doubled quotes are single.
 */
export function splitRecords(records: Records): CellOffsets {
  return new Splitter(records).run(records)
}

/** How many bytes of a record, or of a line, come before the LF or CRLF at its end, if any. */
export function recordLength(line: Buffer): number {
  return contentEnd(line, line.length)
}

/** Where the record that ends at an offset has its content's end: before its LF or CRLF, if any. */
function contentEnd(bytes: Buffer, recordEnd: number): number {
  if (bytes[recordEnd - 1] !== LF) return recordEnd
  return bytes[recordEnd - 2] === CR ? recordEnd - 2 : recordEnd - 1
}

/** Room for the offsets of one call, kept for the next ones: what they need is not known before. */
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
      // Of a record that is too long not all bytes are there.
      // An integer, as offsets in a block are: all that follows is faster.
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

  /** Splits what lies between two offsets, its line break not included. What follows the last column is one cell. */
  #splitRecord(start: number, end: number, isWellFormed: boolean): void {
    const last = this.#count + this.#columns
    let at = start
    for (;;) {
      if (this.#count === starts.length) makeRoom()
      const isRest = this.#count === last
      if (isWellFormed && !isRest && this.#bytes[at] === QUOTE) {
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

  /** Notes the quoted cell whose content begins at an offset. Returns the offset after its closing quote. */
  #unquote(start: number, end: number): number {
    let at = findByte(this.#bytes, QUOTE, start)
    let valueEnd = at
    if (this.#bytes[at + 1] === QUOTE) {
      if (!this.#isCopy) {
        this.#bytes = Buffer.from(this.#bytes)
        this.#isCopy = true
      }
      const bytes = this.#bytes
      // One of two quotes stays, and what follows moves up to it.
      while (bytes[at + 1] === QUOTE) {
        bytes[valueEnd++] = QUOTE
        for (at += 2; bytes[at] !== QUOTE && at < end; at++) bytes[valueEnd++] = bytes[at] ?? 0
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
    if (bytes[at] === LF) at += 1
    else if (bytes[at] === CR && bytes[at + 1] === LF) at += 2
    else return at
  }
}

function makeRoom(): void {
  starts = enlarged(starts)
  ends = enlarged(ends)
}

/** The offset of the first comma, or `end`. */
function pastData(bytes: Buffer, from: number, end: number): number {
  let at = from
  while (at < end && bytes[at] !== COMMA) at++
  return at
}

function enlarged(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2)
  larger.set(array)
  return larger
}
