import { closingQuote, findByte } from './find-byte.ts'
import type { Cells } from './rows.ts'
import { comma, cr, lf, quote } from './special-bytes.ts'

/**
 * Writes cells of CSV lines into a buffer that is reused.
 *
 * @example
 * ```ts
 * const writer = new LineWriter()
 * const source = Buffer.from('alice,5" disk')
 * writer.value(source, 0, 5)
 * writer.value(source, 6, source.length)
 * writer.endLine()
 * writer.take().toString() // → "alice,\"5\"\" disk\"\n"
 * ```
 */
export class LineWriter {
  /**
   * The buffer, of which the first `length` bytes are written. After {@link reserve}, a caller may write to it
   * directly.
   */
  bytes = Buffer.allocUnsafe(2 ** 14)
  length = 0

  /**
   * Writes a value (`source` from `start` to `end`) and a comma. Quotes the value if a reader would misread it
   * otherwise.
   */
  value(source: Buffer, start: number, end: number): void {
    this.reserve(2 * (end - start) + 3)
    if (!this.#plain(source, start, end)) this.#quoted(source, start, end)
    this.bytes[this.length++] = comma
  }

  /** Writes bytes unchanged. */
  copy(source: Buffer, start: number, end: number): void {
    this.reserve(end - start)
    const { bytes } = this
    let to = this.length
    for (let at = start; at < end; at++) bytes[to++] = source[at] ?? 0
    this.length = to
  }

  /** Ends the line: the trailing comma becomes a line break. */
  endLine(): void {
    this.bytes[this.length - 1] = lf
  }

  /** Writes the cells of a row with commas between them. Leaves out the cell at the position `leftOut`; -1 for none. */
  cells({ bytes, count, start, end, columns, isWellFormed }: Cells, leftOut: number): void {
    if (leftOut === -1 && this.#plainRow(bytes, start[0] ?? 0, end[count - 1] ?? 0, count)) return
    const lengthBefore = this.length
    for (let cell = 0; cell < count; cell++) {
      const [cellStart, cellEnd] = [start[cell] ?? 0, end[cell] ?? 0]
      if (cell === columns) this.#rest(bytes, cellStart, cellEnd, isWellFormed)
      else if (cell !== leftOut) this.value(bytes, cellStart, cellEnd)
    }
    if (this.length > lengthBefore) this.length--
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + count))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  /** Returns the written bytes and starts anew. The bytes are valid until the next write. */
  take(): Buffer {
    const written = this.bytes.subarray(0, this.length)
    this.length = 0
    return written
  }

  /** Writes the bytes of a value unchanged. Returns false, with nothing written, if they need quotes. */
  #plain(source: Buffer, start: number, end: number): boolean {
    const { bytes } = this
    let to = this.length
    for (let at = start; at < end; at++) {
      const byte = source[at] ?? 0
      if (byte === quote || byte === comma || byte === cr || byte === lf) return false
      bytes[to++] = byte
    }
    this.length = to
    return true
  }

  /** Copies all cells of a row at once. Returns false, with nothing written, if the source differs from a CSV line. */
  #plainRow(source: Buffer, start: number, end: number, cells: number): boolean {
    const { length } = this
    // If a quoted cell contains a comma, the row has more commas than it needs between its cells, and must not be
    // copied.
    if (this.#plainCells(source, start, end) === cells - 1) return true
    this.length = length
    return false
  }

  /**
   * Writes cells and their commas unchanged. Returns the number of commas; -1, with nothing written, if a cell needs
   * quotes.
   */
  #plainCells(source: Buffer, start: number, end: number): number {
    this.reserve(end - start)
    const { bytes } = this
    let to = this.length
    let commas = 0
    for (let at = start; at < end; at++) {
      const byte = source[at] ?? 0
      if (byte === quote || byte === cr || byte === lf) return -1
      if (byte === comma) commas++
      bytes[to++] = byte
    }
    this.length = to
    return commas
  }

  /** Writes everything that follows a row's last column, value by value. If the row is malformed, quotes are data. */
  #rest(source: Buffer, start: number, end: number, isWellFormed: boolean): void {
    this.reserve(end - start + 1)
    if (this.#plainCells(source, start, end) !== -1) {
      this.bytes[this.length++] = comma
      return
    }
    for (let at = start; ; at++) {
      const from = at
      if (isWellFormed && source[from] === quote) {
        at = closingQuote(source, from) + 1
        // A value with doubled quotes is already quoted as a line needs it.
        if (source.subarray(from + 1, at - 1).includes(quote)) this.#unchanged(source, from, at)
        else this.value(source, from + 1, at - 1)
      } else {
        const next = findByte(source, comma, from)
        at = next === -1 || next > end ? end : next
        this.value(source, from, at)
      }
      if (at >= end) return
    }
  }

  #unchanged(source: Buffer, start: number, end: number): void {
    this.reserve(end - start + 1)
    this.length += source.copy(this.bytes, this.length, start, end)
    this.bytes[this.length++] = comma
  }

  #quoted(source: Buffer, start: number, end: number): void {
    const { bytes } = this
    let to = this.length
    bytes[to++] = quote
    for (let at = start; at < end; at++) {
      const byte = source[at] ?? 0
      if (byte === quote) bytes[to++] = quote
      bytes[to++] = byte
    }
    bytes[to++] = quote
    this.length = to
  }
}
