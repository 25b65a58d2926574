const [quote, backslash, comma, closingBrace] = [0x22, 0x5c, 0x2c, 0x7d]

/**
 * Reads the members of a flat JSON object, without an object for each value. Values are strings and numbers, as in the
 * documents of profiles; the range of a string has its quotes.
 */
export class JsonMembers {
  readonly #bytes: Buffer
  #at: number
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  valueEnd = 0

  /** Accepts the offset of the opening brace. */
  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes
    this.#at = start + 1
  }

  /** Moves to the next member. Returns false if there is none. */
  next(): boolean {
    const bytes = this.#bytes
    const start = this.#toNext(quote, closingBrace)
    if (bytes[start] !== quote) return false
    this.keyStart = start + 1
    this.keyEnd = endOfString(bytes, start)
    // A colon follows, and Postgres writes a space after it.
    let at = this.keyEnd + 2
    while (bytes[at] === 0x20) at++
    this.valueStart = at
    this.#at = bytes[at] === quote ? endOfString(bytes, at) + 1 : at
    this.valueEnd = bytes[at] === quote ? this.#at : this.#toNext(comma, closingBrace)
    return true
  }

  /** Moves to the next one of two bytes. Returns its offset. */
  #toNext(one: number, other: number): number {
    const bytes = this.#bytes
    let at = this.#at
    while (at < bytes.length && bytes[at] !== one && bytes[at] !== other) at++
    this.#at = at
    return at
  }
}

/** Returns the offset of the closing quote of the JSON string whose opening quote is at `start`. */
export function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at
}
