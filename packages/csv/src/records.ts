import { CR, LF, QUOTE } from './dialect.ts'
import { findByte } from './find-byte.ts'
import { tooLong, unclosedQuote, wellFormed } from './record-problems.ts'
import { restart, type Scan, scanRecord, startScan } from './scan.ts'

/** Longest record, bytes without its LF: what bounds the memory that one record takes. */
export const MAX_RECORD_BYTES = 2 ** 20

/** What is kept of a record over {@link MAX_RECORD_BYTES}. */
const KEPT_BYTES = 1024

/**
 * A stretch of the file, by absolute offsets in the uncompressed stream (bytes, `end` exclusive). The blocks of a file
 * follow each other without a gap.
 */
export interface RecordBlock {
  start: number
  end: number
  /** The stretch itself; of a record that is too long only the first 1,024 bytes. */
  bytes: Buffer
  /** Where each record ends, its line break included. There are blank lines between them too. */
  recordEnds: Float64Array
  /** By record, why it cannot be read (`record-problems.ts`); left out if all can. With an unclosed quote it is one physical line. */
  problems?: Uint8Array
}

/**
 * Cuts a stream of bytes into records without taking them apart.
 *
 * Where a record's quoting is broken (a closing quote followed by something else than a comma or a line break, the end of
 * the file or {@link MAX_RECORD_BYTES} reached within quotes), its first physical line alone is given as a problem and
 * the next line begins a record again: a stray quote costs one line, not the rest of the file.
 *
 * Time is linear in the bytes, memory bounded by a few {@link MAX_RECORD_BYTES} and the largest chunk, whatever the file.
 */
export class RecordFramer {
  /** From the start of the record that is not complete yet. */
  #pending: Buffer = Buffer.alloc(0)
  #pendingStart: number
  #incoming: Buffer[] = []
  #incomingBytes = 0
  #skipped: SkippedRecord | undefined
  readonly #maxRecordBytes: number

  /** Takes the absolute offset at which the bytes begin, and a record must begin; and another limit than the usual one. */
  constructor(position = 0, maxRecordBytes = MAX_RECORD_BYTES) {
    this.#pendingStart = position
    this.#maxRecordBytes = maxRecordBytes
  }

  /** Takes the next bytes, gives what is complete. */
  push(chunk: Buffer): RecordBlock[] {
    this.#incoming.push(chunk)
    this.#incomingBytes += chunk.length
    // A pending record is looked at again from its start only with at least as many new bytes: so all passes are linear.
    return this.#incomingBytes < this.#pending.length ? [] : this.#frame(false)
  }

  /** Says that the file ends here, gives what is left. */
  end(): RecordBlock[] {
    return this.#frame(true)
  }

  #frame(final: boolean): RecordBlock[] {
    const blocks = this.#framePending()
    const [first] = this.#incoming
    const isWhole = this.#pending.length === 0 && this.#incoming.length === 1 && first !== undefined
    const data = isWhole ? first : Buffer.concat([this.#pending, ...this.#incoming])
    this.#incoming = []
    this.#incomingBytes = 0
    return blocks.concat(this.#pass(data, final))
  }

  /** Mostly the pending record ends with the next line: then only this line is copied to stand behind it, not the chunk. */
  #framePending(): RecordBlock[] {
    const [chunk] = this.#incoming
    if (this.#pending.length === 0 || chunk === undefined || this.#incoming.length > 1) return []
    const next = chunk.indexOf(LF) + 1
    if (next === 0) return []
    this.#incoming = [chunk.subarray(next)]
    return this.#pass(Buffer.concat([this.#pending, chunk.subarray(0, next)]), false)
  }

  #pass(data: Buffer, final: boolean): RecordBlock[] {
    const options = { base: this.#pendingStart, final, maxRecordBytes: this.#maxRecordBytes }
    const pass = new Pass(data, options, this.#skipped)
    const blocks = pass.run()
    this.#skipped = pass.skipped
    this.#pending = data.subarray(pass.at)
    this.#pendingStart += pass.at
    return blocks
  }
}

/** A record that is too long and whose line break has not come yet. */
interface SkippedRecord {
  start: number
  bytes: Buffer
}

interface PassOptions {
  /** Absolute offset of the data. */
  base: number
  /** No bytes come after the data. */
  final: boolean
  maxRecordBytes: number
}

/** Room for the records of a block, kept for the next ones: an array that grows with each record would take most of the time. */
let ends = new Float64Array(2 ** 12)
let problems = new Uint8Array(2 ** 12)

function makeRoom(): void {
  const [fewerEnds, fewerProblems] = [ends, problems]
  ends = new Float64Array(fewerEnds.length * 2)
  ends.set(fewerEnds)
  problems = new Uint8Array(fewerProblems.length * 2)
  problems.set(fewerProblems)
}

/** One pass over the bytes at hand. Offsets are in `data` unless they are called absolute. */
class Pass {
  /** Start of the record that is looked at. */
  at = 0
  skipped: SkippedRecord | undefined
  readonly #data: Buffer
  readonly #base: number
  readonly #final: boolean
  readonly #maxRecordBytes: number
  readonly #blocks: RecordBlock[] = []
  #blockStart = 0
  /** Records in the open block, in {@link ends} and {@link problems}. */
  #count = 0
  #hasProblems = false
  /** The next quote at or after the start of the record, or the length of `data`. */
  #quote = -1
  /**
   * A scan through quotes that came to nothing. All lines that it passed, from `from` on, begin within its quotes. So a
   * later record whose quotes reach the start of one of these lines can only go the same way and goes on from where it
   * stopped. Without that, a file of stray quotes would take quadratic time.
   */
  readonly #quotes = startScan(0)
  #quotesFrom = Number.POSITIVE_INFINITY
  /** A scan of the first line of a record. */
  readonly #firstLine = startScan(0)

  constructor(data: Buffer, { base, final, maxRecordBytes }: PassOptions, skipped: SkippedRecord | undefined) {
    this.#data = data
    this.#base = base
    this.#final = final
    this.#maxRecordBytes = maxRecordBytes
    this.skipped = skipped
  }

  run(): RecordBlock[] {
    let hasMore = this.skipped === undefined || this.#finishSkipping(this.skipped, 0)
    while (hasMore && this.at < this.#data.length) hasMore = this.#frameRecord()
    this.#closeBlock()
    return this.#blocks
  }

  /** Frames the record that begins here; false where it needs bytes that have not come yet. */
  #frameRecord(): boolean {
    const lf = findByte(this.#data, LF, this.at)
    const lineEnd = lf === -1 ? this.#data.length : lf
    if (lineEnd - this.at > this.#maxRecordBytes) return this.#skip(lineEnd)
    if (lf === -1 && !this.#final) return false
    const next = lf === -1 ? lineEnd : lf + 1
    if (this.#nextQuote() < lineEnd) return this.#frameQuoted(next)
    return this.#isBlank(lf) ? this.#passOver(next) : this.#add(next, wellFormed)
  }

  /** Frames a record with a quote in its first line, which ends before `next`. */
  #frameQuoted(next: number): boolean {
    const limit = this.at + this.#maxRecordBytes + 1
    const scan = this.#scanLines(next, Math.min(limit, this.#data.length))
    if (scan.state === 'broken') return this.#add(next, unclosedQuote)
    if (scan.state !== 'ended') {
      const isOver = scan.at === limit
      if (!isOver && !this.#final) return false
      const inQuotes = scan.state === 'quoted' || scan.state === 'closed CR' || (isOver && scan.state === 'closed')
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
    if (next < this.#quotesFrom || next >= quotes.at) {
      this.#quotesFrom = next
      restart(quotes, 'quoted', next)
    }
    scanRecord(this.#data, quotes, end)
    return quotes
  }

  /** Gives up a record that is too long, up to the first LF from an offset on. */
  #skip(from: number): boolean {
    this.#closeBlock()
    const bytes = Buffer.from(this.#data.subarray(this.at, this.at + KEPT_BYTES))
    return this.#finishSkipping({ start: this.#base + this.at, bytes }, from)
  }

  #finishSkipping(skipped: SkippedRecord, from: number): boolean {
    const lf = this.#data.indexOf(LF, from)
    const isComplete = lf !== -1 || this.#final
    this.at = lf === -1 ? this.#data.length : lf + 1
    this.#blockStart = this.at
    this.skipped = isComplete ? undefined : skipped
    const end = this.#base + this.at
    if (isComplete)
      this.#blocks.push({ ...skipped, end, recordEnds: Float64Array.of(end), problems: Uint8Array.of(tooLong) })
    return isComplete
  }

  /** Adds the record that ends before `next`. */
  #add(next: number, problem: number): boolean {
    if (this.#count === ends.length) makeRoom()
    ends[this.#count] = this.#base + next
    problems[this.#count++] = problem
    if (problem !== wellFormed) this.#hasProblems = true
    return this.#passOver(next)
  }

  #passOver(next: number): boolean {
    this.at = next
    return true
  }

  /** Returns the records that were framed up to here. */
  #closeBlock(): void {
    if (this.at === this.#blockStart) return
    this.#blocks.push({
      start: this.#base + this.#blockStart,
      end: this.#base + this.at,
      bytes: this.#data.subarray(this.#blockStart, this.at),
      recordEnds: ends.slice(0, this.#count),
      ...(this.#hasProblems && { problems: problems.slice(0, this.#count) }),
    })
    this.#blockStart = this.at
    this.#count = 0
    this.#hasProblems = false
  }

  #nextQuote(): number {
    if (this.#quote < this.at) {
      const found = findByte(this.#data, QUOTE, this.at)
      this.#quote = found === -1 ? this.#data.length : found
    }
    return this.#quote
  }

  #isBlank(lf: number): boolean {
    return lf === this.at || (lf === this.at + 1 && this.#data[this.at] === CR)
  }
}
