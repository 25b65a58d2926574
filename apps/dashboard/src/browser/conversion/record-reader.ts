import {
  ByteSplitter,
  FileError,
  HeaderReader,
  problemOf,
  type RecordBlock,
  RecordFramer,
  type RecordProblem,
} from '@sluice/csv/browser'
import { encodeUtf8 } from './encode.ts'

/** The sign between two cells. */
export type Separator = ',' | ';' | '\t'

/** The way in which a file separates cells and records. */
export interface Dialect {
  separator: Separator
  /**
   * CR alone ends the lines of some files from a Mac; LF and CRLF then end a line as well. `\n` stands for LF with the
   * CRs directly before it.
   */
  lineBreak: '\n' | '\r'
}

export interface SourceRecord {
  /**
   * The cells without quotes. A record whose quote is not closed is split at every separator, and its quotes are kept.
   * A record that is too long is one cell with its first 1,024 bytes.
   */
  cells: string[]
  /** Why an import could not read the record. */
  problem?: RecordProblem
}

/**
 * Reads text record by record with the reader of an import, and with another separator or line break. The first record
 * is the header, which may have empty values only: the page shows them, and the import refuses them.
 *
 * Memory is a few times the longest record and the largest chunk. Time is linear for any file.
 */
export class RecordReader {
  readonly #dialect: Dialect
  readonly #framer: RecordFramer
  readonly #splitter: ByteSplitter<Uint8Array>
  /** The text before the header's first character; undefined once that has arrived. */
  #beginning: string | undefined = ''
  #hasHeader = false

  constructor(dialect: Dialect) {
    const separator = byteOf(dialect.separator)
    this.#dialect = dialect
    this.#framer = new RecordFramer(0, undefined, separator)
    this.#splitter = new ByteSplitter(separator)
  }

  /** Accepts the next text. Yields the complete records. */
  *push(chunk: string): Generator<SourceRecord> {
    yield* this.#read(this.#framer.push(encodeUtf8(this.#begun(withLf(chunk, this.#dialect)))))
  }

  /** Ends the text. Yields the remaining records. */
  *end(): Generator<SourceRecord> {
    yield* this.#read(this.#framer.end())
  }

  /**
   * Drops the blank lines before the header, and puts one more cell before its first one. The import's reader would
   * skip a header of empty values without that cell.
   */
  #begun(text: string): string {
    if (this.#beginning === undefined) return text
    const beginning = (this.#beginning + text).replace(/^[\r\n]*\n/, '').replace(/^\r+/, '\r')
    const isBegun = /[^\r]/.test(beginning)
    this.#beginning = isBegun ? undefined : beginning
    return isBegun ? `-${this.#dialect.separator}${beginning}` : ''
  }

  *#read(blocks: readonly RecordBlock[]): Generator<SourceRecord> {
    for (const block of blocks) {
      for (let row = 0; row < block.rowEnd.length; row++) {
        const problem = problemOf(block, row)
        const cells = this.#cells(block, row, problem === 'too long')
        yield problem === undefined ? { cells } : { cells, problem }
      }
    }
  }

  #cells(block: RecordBlock, row: number, isWhole: boolean): string[] {
    const records = { ...block, columns: Number.POSITIVE_INFINITY }
    const { bytes, count, start, end } = this.#splitter.split(records, row)
    const firstCell = this.#hasHeader ? 0 : 1
    this.#hasHeader = true
    const [from = 0, to = 0] = [start[firstCell], end[count - 1]]
    // One call for the row is faster than a call for each cell.
    const text = utf8.decode(bytes.subarray(from, to))
    if (isWhole) return [text]
    const isAscii = text.length === to - from
    const unitsBetween = (one: number, other: number) => (isAscii ? other - one : countUnits(bytes, one, other))
    const cells: string[] = []
    let [at, units] = [from, 0]
    for (let cell = firstCell; cell < count; cell++) {
      const [cellStart = 0, cellEnd = 0] = [start[cell], end[cell]]
      const textStart = units + unitsBetween(at, cellStart)
      units = textStart + unitsBetween(cellStart, cellEnd)
      at = cellEnd
      cells.push(text.slice(textStart, units))
    }
    return this.#dialect.lineBreak === '\r' ? cells.map(withOwnLineBreaks) : cells
  }
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** Returns how many UTF-16 units the characters between two offsets of UTF-8 have. */
function countUnits(bytes: Uint8Array, start: number, end: number): number {
  let units = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (byte < 0x80 || byte >= 0xc0) units += byte < 0xf0 ? 1 : 2
  }
  return units
}

/**
 * Returns why an import would refuse the form of a header, in the words of the import; undefined if it accepts it. The
 * names are not checked.
 *
 * `isWhole`: the text is the whole file, and not only its beginning.
 */
export function headerFormProblem(text: string, isWhole: boolean, dialect: Dialect): string | undefined {
  const reader = new HeaderReader(byteOf(dialect.separator))
  try {
    if (reader.push(new TextEncoder().encode(withLf(text, dialect))) === undefined && isWhole) reader.end()
    return undefined
  } catch (error) {
    if (error instanceof FileError) return error.message
    throw error
  }
}

/**
 * Replaces line breaks by line breaks of the import's reader: CR by LF, and LF by CRLF. Every CR of the result
 * precedes an LF, so {@link withOwnLineBreaks} can restore the line breaks within quotes.
 */
function withLf(text: string, { lineBreak }: Dialect): string {
  return lineBreak === '\n' ? text : text.replaceAll(/[\r\n]/g, (sign) => (sign === '\r' ? '\n' : '\r\n'))
}

function withOwnLineBreaks(text: string): string {
  return text.replaceAll(/\r?\n/g, (sign) => (sign === '\n' ? '\r' : '\n'))
}

const byteOf = (sign: Separator) => sign.charCodeAt(0)
