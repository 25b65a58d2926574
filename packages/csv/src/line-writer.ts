import { COMMA, CR, LF, QUOTE } from './dialect.ts'
import { findByte } from './find-byte.ts'
import { problemOf } from './record-problems.ts'
import type { CellOffsets } from './row-block.ts'

/** Writes cells of CSV lines, one after the other, into memory that it keeps. */
export class LineWriter {
  /** The bytes written so far are the first `length`; a caller may add bytes of its own after `reserve`. */
  bytes = Buffer.allocUnsafe(2 ** 14)
  length = 0

  /** Writes a value, from `start` to `end` of the source, and a comma. Quotes the value if a reader would misread it otherwise. */
  value(source: Buffer, start: number, end: number): void {
    this.reserve(2 * (end - start) + 3)
    if (!this.#plain(source, start, end)) this.#quoted(source, start, end)
    this.bytes[this.length++] = COMMA
  }

  /** Makes the comma after the last value the end of the line. */
  endLine(): void {
    this.bytes[this.length - 1] = LF
  }

  /** Writes the cells of a row with commas between them, except the cell with the number `leftOut`, if not -1. */
  cells(cells: CellOffsets, row: number, leftOut: number): void {
    const { bytes, firstCell, cellStart, cellEnd, columns } = cells
    const first = firstCell[row] ?? 0
    const end = firstCell[row + 1] ?? 0
    if (leftOut === -1 && this.#plainRow(bytes, cellStart[first] ?? 0, cellEnd[end - 1] ?? 0, end - first)) return
    const before = this.length
    for (let cell = first; cell < end; cell++) {
      const [start, cellsEnd] = [cellStart[cell] ?? 0, cellEnd[cell] ?? 0]
      if (cell - first === columns) this.#rest(bytes, start, cellsEnd, problemOf(cells, row) === undefined)
      else if (cell - first !== leftOut) this.value(bytes, start, cellsEnd)
    }
    if (this.length > before) this.length--
  }

  /** Makes room for so many bytes after the last one. */
  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + count))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  /** Returns what was written, which is valid until the next write, and starts again. */
  take(): Buffer {
    const written = this.bytes.subarray(0, this.length)
    this.length = 0
    return written
  }

  /** Writes the bytes of a value as they are. Returns false, with nothing written, if they need quotes. */
  #plain(source: Buffer, start: number, end: number): boolean {
    const { bytes } = this
    let to = this.length
    for (let at = start; at < end; at++) {
      const byte = source[at] ?? 0
      if (byte === QUOTE || byte === COMMA || byte === CR || byte === LF) return false
      bytes[to++] = byte
    }
    this.length = to
    return true
  }

  /** Writes all cells of a row in one go. Returns false, with nothing written, if they do not stand in the source as in a line. */
  #plainRow(source: Buffer, start: number, end: number, cells: number): boolean {
    const { length } = this
    // A comma within a single quoted cell is not one between two cells.
    if (this.#plainCells(source, start, end) === cells - 1) return true
    this.length = length
    return false
  }

  /** Writes cells with commas between them as they are. Returns how many commas, or -1, with nothing written, if one needs quotes. */
  #plainCells(source: Buffer, start: number, end: number): number {
    this.reserve(end - start)
    const { bytes } = this
    let to = this.length
    let commas = 0
    for (let at = start; at < end; at++) {
      const byte = source[at] ?? 0
      if (byte === QUOTE || byte === CR || byte === LF) return -1
      if (byte === COMMA) commas++
      bytes[to++] = byte
    }
    this.length = to
    return commas
  }

  /** Writes what a row has after its last column, value by value. Accepts whether quotes stand around values, or are data. */
  #rest(source: Buffer, start: number, end: number, isWellFormed: boolean): void {
    this.reserve(end - start + 1)
    if (this.#plainCells(source, start, end) !== -1) {
      this.bytes[this.length++] = COMMA
      return
    }
    for (let at = start; ; at++) {
      const from = at
      if (isWellFormed && source[from] === QUOTE) {
        at = closingQuote(source, from) + 1
        // With doubled quotes it stands there as a line has it.
        if (source.subarray(from + 1, at - 1).includes(QUOTE)) this.#asItIs(source, from, at)
        else this.value(source, from + 1, at - 1)
      } else {
        const comma = findByte(source, COMMA, from)
        at = comma === -1 || comma > end ? end : comma
        this.value(source, from, at)
      }
      if (at >= end) return
    }
  }

  #asItIs(source: Buffer, start: number, end: number): void {
    this.reserve(end - start + 1)
    this.length += source.copy(this.bytes, this.length, start, end)
    this.bytes[this.length++] = COMMA
  }

  #quoted(source: Buffer, start: number, end: number): void {
    const { bytes } = this
    let to = this.length
    bytes[to++] = QUOTE
    for (let at = start; at < end; at++) {
      const byte = source[at] ?? 0
      if (byte === QUOTE) bytes[to++] = QUOTE
      bytes[to++] = byte
    }
    bytes[to++] = QUOTE
    this.length = to
  }
}

/** The offset of the quote that closes a well-formed value, given that of the quote that opens it. */
function closingQuote(source: Buffer, opening: number): number {
  let at = findByte(source, QUOTE, opening + 1)
  while (source[at + 1] === QUOTE) at = findByte(source, QUOTE, at + 2)
  return at
}
