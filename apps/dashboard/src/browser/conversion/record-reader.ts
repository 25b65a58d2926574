import { limits } from '@sluice/contract/limits'

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

/** A record of a file. */
export interface SourceRecord {
  /** The cells without quotes. A record with a problem is split at every separator, and its quotes are kept. */
  cells: string[]
  /** Why an import could not read the record. */
  problem?: 'unclosed quote' | 'too long'
}

/**
 * Reads text record by record, by the rules of an import (design.md §3, CSV dialect) except for separator and line
 * break: blank lines and rows of empty values are skipped, and a quote that is not closed costs one line. The first
 * record is the header, which may have empty values only.
 *
 * Memory is a few times the longest record and the largest chunk. Time is linear for any file.
 */
export class RecordReader {
  readonly #separator: Separator
  readonly #lineBreak: Dialect['lineBreak']
  readonly #maxLength: number
  /** Text that has arrived since the last reading. */
  #incoming = ''
  #text = ''
  /** Start of the next record in the text. */
  #at = 0
  #isFinal = false
  #hasHeader = false
  /** The preceding record was too long, and its line break has not arrived yet. */
  #isSkipping = false
  /**
   * The last scan through quotes that did not end a record. Every line from offset `from` up to the cell at offset `at`
   * begins within the quotes of that scan. If the quotes of a later record reach such a line, its scan would take the
   * same path, so it continues at `at` instead. Otherwise a file of unmatched quotes would take quadratic time.
   */
  #failed: { from: number; at: number } | undefined
  readonly #quotes = new Finder('"')
  readonly #separators: Finder
  readonly #lineBreaks: readonly Finder[]

  /** `maxLength` is the length of the longest record, in characters. Tests use a lower limit. */
  constructor({ separator, lineBreak }: Dialect, maxLength: number = limits.recordBytes) {
    this.#separator = separator
    this.#lineBreak = lineBreak
    this.#maxLength = maxLength
    this.#separators = new Finder(separator)
    this.#lineBreaks = lineBreak === '\n' ? [new Finder('\n')] : [new Finder('\r'), new Finder('\n')]
  }

  /** Accepts the next text. Yields the complete records. */
  *push(chunk: string): Generator<SourceRecord> {
    this.#incoming += chunk
    // A pending record is read again from its start only after at least as much new text.
    if (this.#incoming.length >= this.#text.length - this.#at) yield* this.#read()
  }

  /** Ends the text. Yields the remaining records. */
  *end(): Generator<SourceRecord> {
    this.#isFinal = true
    yield* this.#read()
  }

  *#read(): Generator<SourceRecord> {
    this.#text = this.#text.slice(this.#at) + this.#incoming
    this.#incoming = ''
    if (this.#failed !== undefined) {
      this.#failed.from -= this.#at
      this.#failed.at -= this.#at
    }
    this.#at = 0
    for (const finder of [this.#quotes, this.#separators, ...this.#lineBreaks]) finder.restart()
    while (this.#at < this.#text.length) {
      const record = this.#isSkipping ? this.#skipLine() : this.#nextRecord()
      if (record === undefined) return
      if (record === blank || (this.#hasHeader && isEmpty(record))) continue
      this.#hasHeader = true
      yield record
    }
  }

  /** Returns the next record; undefined if its end has not arrived yet. */
  #nextRecord(): SourceRecord | undefined {
    const lineEnd = this.#findLineEnd(this.#at)
    if (lineEnd - this.#at > this.#maxLength) return this.#skipLine()
    const hasBreak = lineEnd < this.#text.length
    if (!hasBreak && !this.#isFinal) return undefined
    if (this.#quotes.find(this.#text, this.#at) < lineEnd) return this.#quotedRecord(lineEnd)
    const line = this.#text.slice(this.#at, this.#contentEnd(this.#at, lineEnd))
    this.#at = lineEnd + 1
    return line === '' ? blank : { cells: line.split(this.#separator) }
  }

  /** Reads a record with a quote in its first line. */
  #quotedRecord(lineEnd: number): SourceRecord | undefined {
    const cells: string[] = []
    const limit = this.#at + this.#maxLength
    let from = this.#at
    for (;;) {
      const cell = this.#cell(from, limit)
      if (cell === 'incomplete') return undefined
      if (cell === 'broken') {
        if (from > lineEnd) this.#failed = { from: lineEnd + 1, at: from }
        return this.#brokenLine(lineEnd)
      }
      const leavesLine = from <= lineEnd && cell.next > lineEnd + 1
      if (leavesLine && this.#failsAgain(lineEnd, limit)) return this.#brokenLine(lineEnd)
      cells.push(cell.value)
      from = cell.next
      if (cell.isLast) break
    }
    if (from - this.#at > this.#maxLength + 1) return this.#skipLine()
    this.#at = from
    return { cells }
  }

  /** Whether a record whose first line ends within quotes fails where an earlier scan has failed, or later. */
  #failsAgain(lineEnd: number, limit: number): boolean {
    const failed = this.#failed
    if (failed === undefined || lineEnd + 1 < failed.from || lineEnd >= failed.at) return false
    for (;;) {
      const cell = this.#cell(failed.at, limit)
      if (cell === 'broken') return true
      if (cell === 'incomplete' || cell.isLast) return false
      failed.at = cell.next
    }
  }

  #cell(from: number, limit: number): Cell | 'incomplete' | 'broken' {
    return this.#text[from] === '"' ? this.#quotedCell(from, limit) : this.#plainCell(from)
  }

  #plainCell(from: number): Cell | 'incomplete' {
    const lineEnd = this.#findLineEnd(from)
    const end = Math.min(this.#separators.find(this.#text, from), lineEnd)
    if (end === this.#text.length && !this.#isFinal) return 'incomplete'
    const isLast = end === lineEnd
    return { value: this.#text.slice(from, isLast ? this.#contentEnd(from, end) : end), next: end + 1, isLast }
  }

  #quotedCell(from: number, limit: number): Cell | 'incomplete' | 'broken' {
    const text = this.#text
    let close = text.indexOf('"', from + 1)
    while (close !== -1 && close < limit && text[close + 1] === '"') close = text.indexOf('"', close + 2)
    if (close === -1 || close > limit) return this.#isFinal || text.length > limit ? 'broken' : 'incomplete'
    const value = text.slice(from + 1, close).replaceAll('""', '"')
    let next = close + 1
    if (text[next] === this.#separator) return { value, next: next + 1, isLast: false }
    if (this.#lineBreak === '\n') while (text[next] === '\r') next++
    if (next === text.length && !this.#isFinal) return 'incomplete'
    if (next < text.length && text[next] !== '\n' && text[next] !== this.#lineBreak) return 'broken'
    return { value, next: next + 1, isLast: true }
  }

  /** Reads the line as it is. The next record begins after it. */
  #brokenLine(lineEnd: number): SourceRecord {
    const line = this.#text.slice(this.#at, this.#contentEnd(this.#at, lineEnd))
    this.#at = lineEnd + 1
    return { cells: line.split(this.#separator), problem: 'unclosed quote' }
  }

  /** Skips a line that is too long. Returns the beginning of the line first, and a blank record for each later part. */
  #skipLine(): SourceRecord {
    const record: SourceRecord = this.#isSkipping
      ? blank
      : { cells: [this.#text.slice(this.#at, this.#at + this.#maxLength + 1)], problem: 'too long' }
    const lineEnd = this.#findLineEnd(this.#at)
    this.#isSkipping = lineEnd === this.#text.length
    this.#at = lineEnd + 1
    return record
  }

  /** Returns the offset of the first line break at or after `from`; the length of the text if there is none. */
  #findLineEnd(from: number): number {
    return Math.min(...this.#lineBreaks.map((finder) => finder.find(this.#text, from)))
  }

  /** Returns the end of a line's content: CRs before the LF, or at the end of the file, are part of the line break. */
  #contentEnd(start: number, lineEnd: number): number {
    let end = lineEnd
    if (this.#lineBreak === '\n') while (end > start && this.#text[end - 1] === '\r') end--
    return end
  }
}

const blank: SourceRecord = { cells: [] }

function isEmpty({ cells, problem }: SourceRecord): boolean {
  return problem === undefined && cells.every((cell) => cell === '')
}

interface Cell {
  value: string
  /** Offset after the cell and its separator or line break. */
  next: number
  isLast: boolean
}

/** Finds a character. Remembers the last search, so that a text is not searched again for each record. */
class Finder {
  readonly #character: string
  /** Offset at which the last search began. The character does not occur between it and {@link #found}. */
  #from = 0
  #found = -1

  constructor(character: string) {
    this.#character = character
  }

  /** Must be called if the text has changed. */
  restart(): void {
    this.#found = -1
  }

  /** Returns the offset of the first such character at or after `from`; the length of the text if there is none. */
  find(text: string, from: number): number {
    if (from < this.#from || from > this.#found) {
      const found = text.indexOf(this.#character, from)
      this.#from = from
      this.#found = found === -1 ? text.length : found
    }
    return this.#found
  }
}
