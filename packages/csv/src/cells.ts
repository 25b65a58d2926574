import { COMMA, CR, LF, QUOTE } from './dialect.ts'
import type { CellOffsets } from './row-block.ts'

/**
 * Takes well-formed records apart, and passes over blank lines between them.
 *
 * Takes their bytes and where each ends in them, its line break included. The bytes of the answer are the given ones, or a
 * copy in which doubled quotes are single.
 */
export function splitRecords(bytes: Buffer, recordEnds: readonly number[]): CellOffsets {
  return new Splitter(bytes, recordEnds.length).run(recordEnds)
}

/** Takes a line that is not well-formed apart at every comma; quotes are data. A line break at its end is left out. */
export function splitAtCommas(line: Buffer): CellOffsets {
  const starts = [0]
  const ends: number[] = []
  for (let comma = line.indexOf(COMMA); comma !== -1; comma = line.indexOf(COMMA, comma + 1)) {
    ends.push(comma)
    starts.push(comma + 1)
  }
  ends.push(recordLength(line))
  return {
    bytes: line,
    firstCell: Uint32Array.of(0, starts.length),
    cellStart: Uint32Array.from(starts),
    cellEnd: Uint32Array.from(ends),
  }
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
  readonly #firstCell: Uint32Array
  #count = 0

  constructor(bytes: Buffer, records: number) {
    this.#bytes = bytes
    this.#firstCell = new Uint32Array(records + 1)
  }

  run(recordEnds: readonly number[]): CellOffsets {
    let start = 0
    for (let record = 0; record < recordEnds.length; record++) {
      const recordEnd = recordEnds[record] ?? 0
      this.#splitRecord(this.#pastBlankLines(start), contentEnd(this.#bytes, recordEnd))
      this.#firstCell[record + 1] = this.#count
      start = recordEnd
    }
    return {
      bytes: this.#bytes,
      firstCell: this.#firstCell,
      cellStart: starts.slice(0, this.#count),
      cellEnd: ends.slice(0, this.#count),
    }
  }

  #pastBlankLines(from: number): number {
    let at = from
    for (;;) {
      if (this.#bytes[at] === LF) at += 1
      else if (this.#bytes[at] === CR && this.#bytes[at + 1] === LF) at += 2
      else return at
    }
  }

  /** Splits what lies between two offsets, its line break not included. */
  #splitRecord(start: number, end: number): void {
    let at = start
    for (;;) {
      if (this.#count === starts.length) makeRoom()
      if (this.#bytes[at] === QUOTE) {
        at = this.#unquote(at + 1)
      } else {
        starts[this.#count] = at
        at = pastData(this.#bytes, at, end)
        ends[this.#count++] = at
      }
      if (at >= end) return
      at++ // the comma
    }
  }

  /** Notes the quoted cell whose content begins at an offset; gives the offset behind its closing quote. */
  #unquote(start: number): number {
    let end = this.#bytes.indexOf(QUOTE, start)
    starts[this.#count] = start
    if (this.#bytes[end + 1] === QUOTE) {
      if (!this.#isCopy) {
        this.#bytes = Buffer.from(this.#bytes)
        this.#isCopy = true
      }
      let valueEnd = end
      while (this.#bytes[end + 1] === QUOTE) {
        // One of the two stays, and what follows moves up to it.
        const next = this.#bytes.indexOf(QUOTE, end + 2)
        this.#bytes.copyWithin(valueEnd, end + 1, next)
        valueEnd += next - end - 1
        end = next
      }
      ends[this.#count++] = valueEnd
    } else {
      ends[this.#count++] = end
    }
    return end + 1
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
