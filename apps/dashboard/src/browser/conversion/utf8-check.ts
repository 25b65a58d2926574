import { linesOf } from './guess-encoding.ts'

/** Number of bytes around the first line that is not UTF-8, for a guess of the encoding and for examples. */
const sampleBytes = 65_536

/** Number of bytes that are kept of the preceding chunk, so that the first line that is not UTF-8 has its beginning. */
const keptBytes = 4_096

/**
 * Checks a stream of bytes for UTF-8 without NUL, which an import can read unchanged.
 *
 * Only the start is searched for NUL, which reveals a file in UTF-16. If a later value contains NUL, the import reports
 * it.
 */
export class Utf8Check {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  #preceding = new Uint8Array(0)
  #isStart = true
  /** Bytes from the first line that is not UTF-8; undefined as long as everything is UTF-8. */
  otherBytes: Uint8Array | undefined

  /** Accepts the next bytes. Returns whether everything up to here is UTF-8. */
  push(chunk: Uint8Array): boolean {
    if (this.otherBytes !== undefined) return false
    if (this.#isStart && chunk.subarray(0, sampleBytes).includes(0)) {
      this.otherBytes = chunk.slice(0, sampleBytes)
      return false
    }
    this.#isStart = this.#isStart && chunk.length === 0
    if (!this.#decodes(chunk)) this.otherBytes = firstOtherLines(this.#preceding, chunk)
    this.#preceding = chunk.slice(-keptBytes)
    return this.otherBytes === undefined
  }

  /** Ends the bytes. Returns whether all of them are UTF-8. */
  end(): boolean {
    if (this.otherBytes !== undefined) return false
    if (!this.#decodes()) this.otherBytes = firstOtherLines(this.#preceding, new Uint8Array(0))
    return this.otherBytes === undefined
  }

  #decodes(chunk?: Uint8Array): boolean {
    try {
      if (chunk === undefined) this.#decoder.decode()
      else this.#decoder.decode(chunk, { stream: true })
      return true
    } catch {
      return false
    }
  }
}

/**
 * Returns the bytes from the beginning of the first line that is not UTF-8. `preceding` are the bytes before the chunk.
 */
function firstOtherLines(preceding: Uint8Array, chunk: Uint8Array): Uint8Array {
  const bytes = joined(preceding, chunk)
  const lines = linesOf(bytes)
  const lacksStart = preceding.length === keptBytes && lines.length > 1
  const other = lines.find((line, index) => !(lacksStart && index === 0) && !isUtf8(line)) ?? lines.at(-1) ?? bytes
  const start = other.byteOffset - bytes.byteOffset
  return bytes.slice(start, start + sampleBytes)
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}
