import { JsonNumber } from '@sluice/contract'

/** The bytes are not JSON in UTF-8. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError'
}

/** The document has more values than allowed. */
export class TooManyValues extends Error {
  override readonly name = 'TooManyValues'
}

/**
 * Parses a JSON document. `keepsNumbers`: numbers that JavaScript would spell in another way become a `JsonNumber`.
 *
 * Throws {@link JsonSyntaxError}. Throws {@link TooManyValues} beyond `maxValues` values and keys, before any of them
 * takes memory.
 */
export function parseJson(bytes: Buffer, maxValues: number, keepsNumbers = false): unknown {
  if (!hasAtMost(maxValues, bytes)) throw new TooManyValues()
  try {
    // Buffer's decoder would replace invalid bytes by a replacement character instead of throwing.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return keepsNumbers ? parseWithNumbers(text) : JSON.parse(text)
  } catch (cause) {
    throw new JsonSyntaxError(undefined, { cause })
  }
}

function parseWithNumbers(text: string): unknown {
  const value = JSON.parse(text)
  try {
    return JSON.parse(text, keepNumber as (key: string, value: unknown) => unknown)
  } catch (error) {
    // The reviver recurses, so some thousand levels overflow the stack. No valid request has so many.
    if (error instanceof RangeError) return value
    throw error
  }
}

/** Reviver that keeps the spelling of numbers. TypeScript does not know its third parameter yet. */
function keepNumber(_: string, value: unknown, { source }: { source?: string }): unknown {
  return typeof value === 'number' && source !== undefined && String(value) !== source ? new JsonNumber(source) : value
}

const [quote, backslash, comma, colon] = Buffer.from('"\\,:')
const opening = [...Buffer.from('[{')]
const closing = [...Buffer.from(']}')]
const space = [...Buffer.from(' \t\r\n')]

/** Whether a document has at most `max` values and keys: one more than its commas, colons, and filled containers. */
function hasAtMost(max: number, json: Buffer): boolean {
  let values = 1
  let isOpened = false
  for (let at = 0; at < json.length && values <= max; at++) {
    const byte = json[at] ?? 0
    if (byte === quote) at = endOfString(json, at)
    else if (byte === comma || byte === colon) values++
    else if (space.includes(byte)) continue
    if (isOpened && !closing.includes(byte)) values++
    isOpened = opening.includes(byte)
  }
  return values <= max
}

/** Returns the offset of the quote that ends the string at `start`; the end of the document if there is none. */
function endOfString(json: Buffer, start: number): number {
  let at = start + 1
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1
  return at
}
