import { utf16Of } from './guess-encoding.ts'

/** Number of bytes of lines that are kept, for a guess of the encoding and for examples. */
const sampleBytes = 65_536

/** Number of lines in UTF-8 that are kept as examples. */
const utf8Examples = 2

/** Begins the escape sequences of ISO-2022-JP. */
const escapeByte = 0x1b

/** What is known of a file that is not UTF-8. */
export interface OtherText {
  /** The first lines that are not UTF-8. */
  lines: Uint8Array
  /** The first lines with letters beyond ASCII that are UTF-8, and then the first ones that are not. */
  examples: Uint8Array
  /** Of the lines with letters beyond ASCII, more are UTF-8 than are not. */
  isMostlyUtf8: boolean
}

/**
 * Checks a file for UTF-8, which an import can read unchanged. Only the start is searched for UTF-16. If a value
 * contains NUL, the import reports it. Works byte by byte: an object for each line of a large file costs a tab 50 MB.
 */
export class Utf8Check {
  readonly #utf8 = new Sample(utf8Examples)
  readonly #others = new Sample(Number.POSITIVE_INFINITY)
  #line = new LineOfBytes()
  /** The beginning of the line that the preceding chunk cut. */
  #cutLine: Uint8Array = new Uint8Array(0)
  /** The start of the file if it is UTF-16; undefined before the first bytes. */
  #utf16: Uint8Array | false | undefined

  /** Accepts the next bytes. Returns whether further bytes can change the result. */
  push(chunk: Uint8Array): boolean {
    if (this.#utf16 === undefined && chunk.length > 0) {
      this.#utf16 = utf16Of(chunk.subarray(0, sampleBytes)) !== undefined && chunk.slice(0, sampleBytes)
    }
    if (this.#utf16) return false
    let start = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (byte === 0x0a || byte === 0x0d) {
        this.#endLine(chunk, start, at)
        start = at + 1
      } else if (byte >= 0x80 || byte === escapeByte || this.#line.isWithinCharacter) this.#line.push(byte)
    }
    if (this.#cutLine.length < sampleBytes) this.#cutLine = joined(this.#cutLine, chunk.slice(start))
    return true
  }

  /** Ends the bytes. Returns undefined if all of them are UTF-8. */
  end(): OtherText | undefined {
    if (this.#utf16) return { lines: this.#utf16, examples: this.#utf16, isMostlyUtf8: false }
    this.#endLine(new Uint8Array(0), 0, 0)
    if (this.#others.count === 0) return undefined
    const lines = this.#others.bytes()
    const examples = joined(this.#utf8.bytes(), lines)
    return { lines, examples, isMostlyUtf8: this.#utf8.count > this.#others.count }
  }

  #endLine(chunk: Uint8Array, start: number, end: number): void {
    if (this.#line.isAscii) {
      if (this.#cutLine.length > 0) this.#cutLine = new Uint8Array(0)
      return
    }
    const sample = this.#line.isUtf8 ? this.#utf8 : this.#others
    sample.add(() => joined(this.#cutLine, chunk.subarray(start, end)))
    this.#line = new LineOfBytes()
    this.#cutLine = new Uint8Array(0)
  }
}

/**
 * The bytes of a line, compared with UTF-8: no overlong characters, no surrogates, nothing beyond U+10FFFF. A line with
 * an escape sequence of ISO-2022-JP is not UTF-8 either, although its bytes are ASCII.
 */
class LineOfBytes {
  isAscii = true
  #isValid = true
  /** Number of bytes that the current character still needs, and the range of the next one. */
  #left = 0
  #low = 0x80
  #high = 0xbf
  /** Number of bytes of an escape sequence so far: ESC, $, and @ or B. */
  #escape = 0

  get isWithinCharacter(): boolean {
    return this.#left > 0 || this.#escape > 0
  }

  get isUtf8(): boolean {
    return this.#isValid && this.#left === 0
  }

  push(byte: number): void {
    if (this.#left === 0 && byte < 0x80) this.#pushAscii(byte)
    else this.#pushOther(byte)
  }

  #pushOther(byte: number): void {
    this.#escape = 0
    this.isAscii = false
    if (this.#left > 0) {
      if (byte < this.#low || byte > this.#high) this.#isValid = false
      this.#left--
      this.#low = 0x80
      this.#high = 0xbf
    } else if (byte < 0xc2 || byte > 0xf4) this.#isValid = false
    else if (byte < 0xe0) this.#left = 1
    else if (byte < 0xf0) this.#begin(2, byte === 0xe0 ? 0xa0 : 0x80, byte === 0xed ? 0x9f : 0xbf)
    else this.#begin(3, byte === 0xf0 ? 0x90 : 0x80, byte === 0xf4 ? 0x8f : 0xbf)
  }

  #pushAscii(byte: number): void {
    const isNext = this.#escape === 1 ? byte === 0x24 : byte === 0x40 || byte === 0x42
    this.#escape = byte === escapeByte ? 1 : isNext && this.#escape > 0 ? this.#escape + 1 : 0
    if (this.#escape < 3) return
    this.#escape = 0
    this.isAscii = false
    this.#isValid = false
  }

  #begin(left: number, low: number, high: number): void {
    this.#left = left
    this.#low = low
    this.#high = high
  }
}

/** Counts lines, and keeps the first of them. */
class Sample {
  count = 0
  readonly #most: number
  readonly #kept: Uint8Array[] = []
  #room = sampleBytes

  constructor(most: number) {
    this.#most = most
  }

  add(bytesOf: () => Uint8Array): void {
    if (this.count++ >= this.#most || this.#room <= 0) return
    const line = bytesOf().slice(0, this.#room)
    this.#kept.push(line)
    this.#room -= line.length + 1
  }

  /** Returns the kept lines, each with a line break. */
  bytes(): Uint8Array {
    return this.#kept.reduce((all, line) => joined(all, joined(line, Uint8Array.of(0x0a))), new Uint8Array(0))
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}
