import { linesOf, utf16Of } from './guess-encoding.ts'

/** Number of bytes of lines that are kept, for a guess of the encoding and for examples. */
const sampleBytes = 65_536

/** A longer line is checked in parts, bytes. */
const longestLine = 2 ** 20

/** Number of lines in UTF-8 that are kept as examples. */
const utf8Examples = 2

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
 * contains NUL, the import reports it.
 */
export class Utf8Check {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  readonly #utf8 = new Sample(utf8Examples)
  readonly #others = new Sample(Number.POSITIVE_INFINITY)
  #rest: Uint8Array = new Uint8Array(0)
  /** The start of the file if it is UTF-16; undefined before the first bytes. */
  #utf16: Uint8Array | false | undefined

  /** Accepts the next bytes. Returns whether further bytes can change the result. */
  push(chunk: Uint8Array): boolean {
    if (this.#utf16 === undefined && chunk.length > 0) {
      this.#utf16 = utf16Of(chunk.subarray(0, sampleBytes)) !== undefined && chunk.slice(0, sampleBytes)
    }
    if (this.#utf16) return false
    const bytes = joined(this.#rest, chunk)
    const end = endOfLines(bytes)
    this.#check(bytes.subarray(0, end))
    this.#rest = bytes.slice(end)
    return true
  }

  /** Ends the bytes. Returns undefined if all of them are UTF-8. */
  end(): OtherText | undefined {
    if (this.#utf16) return { lines: this.#utf16, examples: this.#utf16, isMostlyUtf8: false }
    this.#check(this.#rest)
    if (this.#others.count === 0) return undefined
    const lines = this.#others.bytes()
    const examples = joined(this.#utf8.bytes(), lines)
    return { lines, examples, isMostlyUtf8: this.#utf8.count > this.#others.count }
  }

  #check(bytes: Uint8Array): void {
    for (const line of linesOf(bytes)) {
      if (line.every((byte) => byte < 0x80)) continue
      const sample = this.#isUtf8(line) ? this.#utf8 : this.#others
      sample.add(line)
    }
  }

  #isUtf8(bytes: Uint8Array): boolean {
    try {
      this.#decoder.decode(bytes)
      return true
    } catch {
      return false
    }
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

  add(line: Uint8Array): void {
    if (this.count++ >= this.#most || this.#room <= 0) return
    this.#kept.push(line.slice(0, this.#room))
    this.#room -= line.length + 1
  }

  /** Returns the kept lines, each with a line break. */
  bytes(): Uint8Array {
    return this.#kept.reduce((all, line) => joined(all, joined(line, Uint8Array.of(0x0a))), new Uint8Array(0))
  }
}

/**
 * Returns the end of the last whole line, or of the last whole character if the line is too long to wait for its end.
 */
function endOfLines(bytes: Uint8Array): number {
  const end = Math.max(bytes.lastIndexOf(0x0a), bytes.lastIndexOf(0x0d)) + 1
  if (end > 0 || bytes.length < longestLine) return end
  let at = bytes.length - 1
  while (at > 0 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at--
  return at
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}
