import { type KeptRow, readKeptRows } from './kept-rows.ts'
import { Messages } from './messages.ts'

/** Bytes of the pieces in which lines are returned. A longer line is a piece of its own. */
const pieceBytes = 2 ** 18

const comma = 0x2c
const lineBreak = 0x0a

/**
 * Makes the lines of an error file from rows in their short form (`kept-rows.ts`; service.md, Error CSV file;
 * design.md §3, Error file's size; design.md §3, Error file).
 */
export class ErrorLines {
  readonly #messages: Messages
  /** Problems of the preceding row, and the cell with their messages. The next row mostly has the same problems. */
  #problems: KeptRow['problems'] = []
  #cell: Buffer = Buffer.alloc(0)

  /** Accepts the uploaded columns. */
  constructor(columns: readonly string[]) {
    this.#messages = new Messages(columns)
  }

  /** Returns the lines of the rows in pieces, as far as whole lines fit into `maxBytes`. */
  *of(content: Buffer, maxBytes = Number.POSITIVE_INFINITY): Generator<Buffer, void, void> {
    let piece = Buffer.alloc(0)
    let length = 0
    let left = maxBytes
    for (const row of readKeptRows(content)) {
      const byteSize = this.#byteSize(row)
      if (byteSize > left) break
      if (length + byteSize > piece.length) {
        if (length > 0) yield piece.subarray(0, length)
        piece = Buffer.allocUnsafe(Math.max(pieceBytes, byteSize))
        length = 0
      }
      length = this.#write(row, content, piece, length)
      left -= byteSize
    }
    if (length > 0) yield piece.subarray(0, length)
  }

  /**
   * Returns the bytes of the whole lines that fit into `maxBytes`, and the number of the first row that does not fit.
   */
  cut(content: Buffer, maxBytes: number): { byteSize: number; endsBeforeRow: number | undefined } {
    let byteSize = 0
    for (const row of readKeptRows(content)) {
      const next = byteSize + this.#byteSize(row)
      if (next > maxBytes) return { byteSize, endsBeforeRow: row.number }
      byteSize = next
    }
    return { byteSize, endsBeforeRow: undefined }
  }

  #byteSize({ problems, start, end, missingValues }: KeptRow): number {
    if (problems !== this.#problems) {
      this.#problems = problems
      this.#cell = Buffer.from(this.#messages.cell(problems))
    }
    return this.#cell.length + 1 + (end - start) + missingValues + 1
  }

  #write({ start, end, missingValues }: KeptRow, content: Buffer, piece: Buffer, from: number): number {
    let to = from + this.#cell.copy(piece, from)
    piece[to++] = comma
    to += content.copy(piece, to, start, end)
    if (missingValues > 0) piece.fill(comma, to, to + missingValues)
    to += missingValues
    piece[to++] = lineBreak
    return to
  }
}
