import { COMMA, CR, LF, QUOTE, SERVICE_ERRORS } from './dialect.ts'
import { type CellOffsets, cellCount } from './row-block.ts'

/**
 * The header of an error file (service.md, Error CSV file): SERVICE_ERRORS and the uploaded columns, without one of that
 * name. Takes the uploaded columns, gives the line in UTF-8.
 */
export function errorFileHeader(columns: readonly string[]): Buffer {
  const lines = new LineWriter()
  for (const name of [SERVICE_ERRORS, ...columns.filter((name) => name !== SERVICE_ERRORS)]) {
    const bytes = Buffer.from(name)
    lines.value(bytes, 0, bytes.length)
  }
  lines.endLine()
  return lines.take()
}

/** Messages whose bytes are kept: rows mostly fail for one of few reasons. */
const keptMessages = 100

/**
 * Rows of an error file, one behind the other.
 *
 * Values are the original bytes, so that the file can be corrected and uploaded again: also where they are not UTF-8, and
 * where a spreadsheet would take them for a formula. Values that a row lacks are empty; values beyond the columns follow
 * the others.
 */
export class ErrorLines {
  readonly #columns: number
  /** The uploaded column that the messages take the place of; -1 where there is none. */
  readonly #reserved: number
  readonly #lines = new LineWriter()
  readonly #messages = new Map<string, Buffer>()

  /** Takes the uploaded columns. */
  constructor(columns: readonly string[]) {
    this.#columns = columns.length
    this.#reserved = columns.indexOf(SERVICE_ERRORS)
  }

  /** Bytes of the lines so far. */
  get length(): number {
    return this.#lines.length
  }

  /** Adds a row. Takes all of its messages, and where its cells lie. */
  add(messages: readonly string[], cells: CellOffsets, row: number): void {
    const message = this.#bytesOf(messages.join(', '))
    this.#lines.value(message, 0, message.length)
    const count = cellCount(cells, row)
    const first = cells.firstCell[row] ?? 0
    for (let index = 0; index < count || index < this.#columns; index++) {
      if (index === this.#reserved) continue
      if (index >= count) this.#lines.value(message, 0, 0)
      else this.#lines.value(cells.bytes, cells.cellStart[first + index] ?? 0, cells.cellEnd[first + index] ?? 0)
    }
    this.#lines.endLine()
  }

  /** Gives the lines, good until the next one is added, and begins anew. */
  take(): Buffer {
    return this.#lines.take()
  }

  #bytesOf(message: string): Buffer {
    const kept = this.#messages.get(message)
    if (kept !== undefined) return kept
    const bytes = Buffer.from(message)
    if (this.#messages.size < keptMessages) this.#messages.set(message, bytes)
    return bytes
  }
}

/** Writes values, each with a comma behind it, which at the end of a line becomes its break. */
class LineWriter {
  #bytes = Buffer.allocUnsafe(2 ** 14)
  length = 0

  /** Writes the bytes from `start` to `end`, in quotes where a reader would misread them else. */
  value(source: Buffer, start: number, end: number): void {
    this.#reserve(2 * (end - start) + 3)
    if (!this.#plain(source, start, end)) this.#quoted(source, start, end)
    this.#bytes[this.length++] = COMMA
  }

  endLine(): void {
    this.#bytes[this.length - 1] = LF
  }

  take(): Buffer {
    const lines = this.#bytes.subarray(0, this.length)
    this.length = 0
    return lines
  }

  /** Writes bytes as they are; gives false, with nothing written, where they need quotes. */
  #plain(source: Buffer, start: number, end: number): boolean {
    const bytes = this.#bytes
    let to = this.length
    for (let at = start; at < end; at++) {
      const byte = source[at] ?? 0
      if (byte === QUOTE || byte === COMMA || byte === CR || byte === LF) return false
      bytes[to++] = byte
    }
    this.length = to
    return true
  }

  #quoted(source: Buffer, start: number, end: number): void {
    const bytes = this.#bytes
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

  #reserve(count: number): void {
    if (this.length + count <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.length + count))
    this.#bytes.copy(larger, 0, 0, this.length)
    this.#bytes = larger
  }
}
