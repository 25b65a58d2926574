import { limits } from '@sluice/contract/limits'
import { joinBytes } from './bytes.ts'
import type { Records } from './cells.ts'
import { findByte } from './find-byte.ts'
import { pastEmptyValues } from './line-ends.ts'
import { tooLong, unclosedQuote, wellFormed } from './record-problems.ts'
import { restart, type Scan, scanRecord, startScan } from './scan.ts'
import { comma, lf, quote } from './special-bytes.ts'

/** Number of bytes that are kept of a record that exceeds the size limit. */
const keptBytes = 1024

/**
 * A section of the file. The blocks of a file follow each other without a gap. A record with an unclosed quote ends
 * with its first physical line.
 */
export interface RecordBlock extends Omit<Records<Uint8Array>, 'columns'> {
  /** Absolute offset in the uncompressed stream (exclusive), bytes. */
  end: number
}

/**
 * Cuts a stream of bytes into records (design.md §3, Width of a file; design.md §3, CSV dialect). Does not split the
 * records into cells.
 *
 * The quoting of a record is broken if any byte except a separator or a line break follows a closing quote. It is also
 * broken if the file ends, or the record reaches its size limit, within quotes. Only the record's first physical line
 * is then reported as a problem, and the next line begins a new record. An unmatched quote therefore costs one line,
 * not the rest of the file.
 *
 * For any file, time is linear in the number of bytes. Memory is at most a few times the longest record and the largest
 * chunk.
 */
export class RecordFramer {
  /** The bytes from the start of the incomplete record. */
  #pending: Uint8Array = joinBytes([])
  #pendingStart: number
  #incoming: Uint8Array[] = []
  #incomingBytes = 0
  /** The pending bytes are part of one line: without a line break, no record can end. */
  #isOneLine = true
  #skipped: SkippedRecord | undefined
  readonly #maxRecordBytes: number
  readonly #separator: number

  /**
   * Accepts the absolute offset of the first byte, which must begin a record, and the byte between two values. Tests
   * use a lower limit for records.
   */
  constructor(position = 0, maxRecordBytes: number = limits.recordBytes, separator: number = comma) {
    this.#pendingStart = position
    this.#separator = separator
    this.#maxRecordBytes = maxRecordBytes
  }

  /** Accepts the next bytes. Returns the blocks of complete records. */
  push(chunk: Uint8Array): RecordBlock[] {
    this.#incoming.push(chunk)
    this.#incomingBytes += chunk.length
    return this.#canWait(chunk) ? [] : this.#frame(false)
  }

  /**
   * Whether the chunk need not be scanned yet. Without a line feed, no record ends in it if a record is one line. Other
   * pending records are scanned again from their start only when as many new bytes have come as are pending, so that
   * all passes together stay linear.
   */
  #canWait(chunk: Uint8Array): boolean {
    const bytes = this.#pending.length + this.#incomingBytes
    if (this.#isOneLine && bytes <= this.#maxRecordBytes && this.#skipped === undefined) return !chunk.includes(lf)
    return this.#incomingBytes < this.#pending.length
  }

  /** Ends the file. Returns the remaining blocks. */
  end(): RecordBlock[] {
    return this.#frame(true)
  }

  #frame(final: boolean): RecordBlock[] {
    const blocks = this.#framePending()
    const [first] = this.#incoming
    const isWhole = this.#pending.length === 0 && this.#incoming.length === 1 && first !== undefined
    const data = isWhole ? first : joinBytes([this.#pending, ...this.#incoming])
    this.#incoming = []
    this.#incomingBytes = 0
    return blocks.concat(this.#pass(data, final))
  }

  /**
   * Frames the pending record alone if the chunk has the rest of its line, which is the usual case. Only this line is
   * then copied, not the chunk.
   */
  #framePending(): RecordBlock[] {
    const chunk = this.#incoming.at(-1)
    // Chunks that wait hold no line break if the pending bytes are part of one line.
    const isNextLine = this.#isOneLine || this.#incoming.length === 1
    const isFirst = chunk?.length === this.#pending.length + this.#incomingBytes
    if (chunk === undefined || !isNextLine || isFirst) return []
    const next = chunk.indexOf(lf) + 1
    if (next === 0) return []
    const line = joinBytes([this.#pending, ...this.#incoming.slice(0, -1), chunk.subarray(0, next)])
    this.#incoming = [chunk.subarray(next)]
    return this.#pass(line, false)
  }

  #pass(data: Uint8Array, final: boolean): RecordBlock[] {
    const [maxRecordBytes, separator] = [this.#maxRecordBytes, this.#separator]
    const options = { base: this.#pendingStart, final, maxRecordBytes, separator }
    const pass = new Pass(data, options, this.#skipped)
    const blocks = pass.run()
    this.#skipped = pass.skipped
    this.#pending = data.subarray(pass.at)
    this.#isOneLine = !this.#pending.includes(lf)
    this.#pendingStart += pass.at
    return blocks
  }
}

/** A record that is too long and whose line break has not arrived yet. */
interface SkippedRecord {
  start: number
  bytes: Uint8Array
}

interface PassOptions {
  /** Absolute offset of the data. */
  base: number
  /** No bytes follow the data. */
  final: boolean
  maxRecordBytes: number
  separator: number
}

/**
 * Buffers for the records of a block. They are reused: growing an array for each record would take most of the time.
 */
let ends = new Float64Array(2 ** 12)
let problems = new Uint8Array(2 ** 12)

function makeRoom(): void {
  const [fewerEnds, fewerProblems] = [ends, problems]
  ends = new Float64Array(fewerEnds.length * 2)
  ends.set(fewerEnds)
  problems = new Uint8Array(fewerProblems.length * 2)
  problems.set(fewerProblems)
}

/** One pass over the available bytes. Offsets refer to `data`, unless they are called absolute. */
class Pass {
  /** Start of the current record. */
  at = 0
  skipped: SkippedRecord | undefined
  readonly #data: Uint8Array
  readonly #options: PassOptions
  readonly #blocks: RecordBlock[] = []
  #blockStart = 0
  /** Number of records in the open block, which are in {@link ends} and {@link problems}. */
  #count = 0
  #hasProblems = false
  /** Offset of the first quote at or after the start of the record; the length of `data` if there is none. */
  #quote = -1
  /**
   * A scan through quotes that did not end a record. All lines that it passed begin within its quotes. If the quotes of
   * a later record reach the start of such a line, the scan of that record would take the same path. It therefore
   * continues where the earlier scan stopped. Otherwise a file of unmatched quotes would take quadratic time.
   */
  readonly #quotes: Scan
  /** The scan of a record's first line. */
  readonly #firstLine: Scan

  constructor(data: Uint8Array, options: PassOptions, skipped: SkippedRecord | undefined) {
    this.#data = data
    this.#options = options
    this.#quotes = startScan(0, options.separator)
    this.#firstLine = startScan(0, options.separator)
    this.skipped = skipped
  }

  run(): RecordBlock[] {
    let hasMore = this.skipped === undefined || this.#finishSkipping(this.skipped, 0)
    while (hasMore && this.at < this.#data.length) hasMore = this.#frameRecord()
    this.#closeBlock()
    return this.#blocks
  }

  /** Frames the record at the current position. Returns false if that needs bytes that have not arrived yet. */
  #frameRecord(): boolean {
    const lineBreak = findByte(this.#data, lf, this.at)
    const lineEnd = lineBreak === -1 ? this.#data.length : lineBreak
    if (lineEnd - this.at > this.#options.maxRecordBytes) return this.#skip(lineEnd)
    if (lineBreak === -1 && !this.#options.final) return false
    const next = lineBreak === -1 ? lineEnd : lineBreak + 1
    if (this.#nextQuote() < lineEnd) return this.#frameQuoted(next)
    return this.#add(next, wellFormed)
  }

  /** Frames a record whose first line has a quote. `next` is the offset of the following line. */
  #frameQuoted(next: number): boolean {
    const limit = this.at + this.#options.maxRecordBytes + 1
    const scan = this.#scanLines(next, Math.min(limit, this.#data.length))
    if (scan.state === 'broken') return this.#add(next, unclosedQuote)
    if (scan.state !== 'ended') {
      const isOver = scan.at === limit
      if (!isOver && !this.#options.final) return false
      const afterQuote = scan.state === 'closed' || scan.state === 'closed CR'
      const inQuotes = scan.state === 'quoted' || (isOver && afterQuote)
      if (inQuotes) return this.#add(next, unclosedQuote)
      if (isOver) return this.#skip(scan.at)
    }
    return this.#add(scan.at, wellFormed)
  }

  #scanLines(next: number, end: number): Scan {
    const firstLine = restart(this.#firstLine, 'field', this.at)
    scanRecord(this.#data, firstLine, next)
    if (firstLine.state !== 'quoted') return firstLine
    const quotes = this.#quotes
    if (next >= quotes.at) restart(quotes, 'quoted', next)
    scanRecord(this.#data, quotes, end)
    return quotes
  }

  /**
   * Skips a record that is too long, up to the first LF at or after `from`. Returns false if the LF is yet to arrive.
   */
  #skip(from: number): boolean {
    this.#closeBlock()
    const bytes = joinBytes([this.#data.subarray(this.at, this.at + keptBytes)])
    return this.#finishSkipping({ start: this.#options.base + this.at, bytes }, from)
  }

  #finishSkipping(skipped: SkippedRecord, from: number): boolean {
    const lineBreak = this.#data.indexOf(lf, from)
    const isComplete = lineBreak !== -1 || this.#options.final
    this.at = lineBreak === -1 ? this.#data.length : lineBreak + 1
    this.#blockStart = this.at
    this.skipped = isComplete ? undefined : skipped
    const end = this.#options.base + this.at
    if (isComplete) {
      this.#blocks.push({ ...skipped, end, rowEnd: Float64Array.of(end), problems: Uint8Array.of(tooLong) })
    }
    return isComplete
  }

  /**
   * Adds the record that ends before `next` to the open block, unless all its values are empty. Returns true: the
   * record is framed.
   */
  #add(next: number, problem: number): boolean {
    if (problem === wellFormed && this.#isBlank(next)) return this.#passOver(next)
    if (this.#count === ends.length) makeRoom()
    ends[this.#count] = this.#options.base + next
    problems[this.#count++] = problem
    if (problem !== wellFormed) this.#hasProblems = true
    return this.#passOver(next)
  }

  #passOver(next: number): boolean {
    this.at = next
    return true
  }

  /** Ends the open block at the current position. */
  #closeBlock(): void {
    if (this.at === this.#blockStart) return
    this.#blocks.push({
      start: this.#options.base + this.#blockStart,
      end: this.#options.base + this.at,
      bytes: this.#data.subarray(this.#blockStart, this.at),
      rowEnd: ends.slice(0, this.#count),
      ...(this.#hasProblems && { problems: problems.slice(0, this.#count) }),
    })
    this.#blockStart = this.at
    this.#count = 0
    this.#hasProblems = false
  }

  #nextQuote(): number {
    if (this.#quote < this.at) {
      const found = findByte(this.#data, quote, this.at)
      this.#quote = found === -1 ? this.#data.length : found
    }
    return this.#quote
  }

  #isBlank(next: number): boolean {
    const past = pastEmptyValues(this.#data, this.at, this.#options.separator)
    return past === next || this.#data[past] === lf
  }
}
