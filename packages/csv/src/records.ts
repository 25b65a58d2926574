import { CR, LF, QUOTE } from './dialect.ts'
import { type Scan, scanRecord, startScan } from './scan.ts'

/** Longest record, bytes without its LF: what bounds the memory that one record takes. */
export const MAX_RECORD_BYTES = 2 ** 20

/** What is kept of a record over {@link MAX_RECORD_BYTES}. */
const KEPT_BYTES = 1024

/** Why a line is not read as a record (design.md §3, CSV dialect). */
export type RecordProblem = 'unclosed quote' | 'too long'

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
  recordEnds: number[]
  /** Set where the block is one record that is not well-formed. With an unclosed quote it is one physical line. */
  problem?: RecordProblem
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
  #recordEnds: number[] = []
  /** The next quote at or after the start of the record, or the length of `data`. */
  #quote = -1
  /**
   * A scan through quotes that came to nothing. All lines that it passed, from `from` on, begin within its quotes. So a
   * later record whose quotes reach the start of one of these lines can only go the same way and goes on from where it
   * stopped. Without that, a file of stray quotes would take quadratic time.
   */
  #quotes: { from: number; scan: Scan } | undefined

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
    const lf = this.#data.indexOf(LF, this.at)
    const lineEnd = lf === -1 ? this.#data.length : lf
    if (lineEnd - this.at > this.#maxRecordBytes) return this.#skip(lineEnd)
    if (lf === -1 && !this.#final) return false
    const next = lf === -1 ? lineEnd : lf + 1
    if (this.#nextQuote() < lineEnd) return this.#frameQuoted(next)
    if (!this.#isBlank(lf)) this.#recordEnds.push(this.#base + next)
    this.at = next
    return true
  }

  /** Frames a record with a quote in its first line, which ends before `next`. */
  #frameQuoted(next: number): boolean {
    const limit = this.at + this.#maxRecordBytes + 1
    const scan = this.#scanLines(next, Math.min(limit, this.#data.length))
    if (scan.state === 'broken') return this.#report('unclosed quote', next)
    if (scan.state !== 'ended') {
      const isOver = scan.at === limit
      if (!isOver && !this.#final) return false
      const inQuotes = scan.state === 'quoted' || scan.state === 'closed CR' || (isOver && scan.state === 'closed')
      if (inQuotes) return this.#report('unclosed quote', next)
      if (isOver) return this.#skip(scan.at)
    }
    this.#recordEnds.push(this.#base + scan.at)
    this.at = scan.at
    return true
  }

  #scanLines(next: number, end: number): Scan {
    const scan = startScan(this.at)
    scanRecord(this.#data, scan, next)
    if (scan.state !== 'quoted') return scan
    const known = this.#quotes
    const isKnown = known !== undefined && known.from <= next && next < known.scan.at
    const quotes = isKnown ? known : { from: next, scan }
    this.#quotes = quotes
    scanRecord(this.#data, quotes.scan, end)
    return quotes.scan
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
    if (isComplete) this.#blocks.push({ ...skipped, end, recordEnds: [end], problem: 'too long' })
    return isComplete
  }

  #report(problem: RecordProblem, next: number): boolean {
    this.#closeBlock()
    this.at = next
    this.#pushBlock([this.#base + next], problem)
    return true
  }

  /** Gives what was framed as well-formed up to here. */
  #closeBlock(): void {
    if (this.at > this.#blockStart) this.#pushBlock(this.#recordEnds)
    this.#recordEnds = []
  }

  #pushBlock(recordEnds: number[], problem?: RecordProblem): void {
    const block = {
      start: this.#base + this.#blockStart,
      end: this.#base + this.at,
      bytes: this.#data.subarray(this.#blockStart, this.at),
      recordEnds,
    }
    this.#blocks.push(problem === undefined ? block : { ...block, problem })
    this.#blockStart = this.at
  }

  #nextQuote(): number {
    if (this.#quote < this.at) {
      const found = this.#data.indexOf(QUOTE, this.at)
      this.#quote = found === -1 ? this.#data.length : found
    }
    return this.#quote
  }

  #isBlank(lf: number): boolean {
    return lf === this.at || (lf === this.at + 1 && this.#data[this.at] === CR)
  }
}
