import { JsonNumber } from '@sluice/contract'

/** The bytes are not JSON in UTF-8 (design.md §3, Malformed JSON). */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError'
}

/** The document has more values than allowed. */
export class TooManyValues extends Error {
  override readonly name = 'TooManyValues'
}

/**
 * Reads a text in UTF-8 to its end, without its byte order mark. Decodes each chunk as it arrives, so that a long text
 * holds nobody up. Throws {@link JsonSyntaxError} if the bytes are not UTF-8.
 */
export async function readText(chunks: AsyncIterable<Buffer>): Promise<string> {
  // Buffer's decoder would replace invalid bytes by a replacement character instead of throwing.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let problem: unknown
  const decode = (chunk?: Buffer) => {
    try {
      if (problem === undefined) text += decoder.decode(chunk, { stream: chunk !== undefined })
    } catch (error) {
      problem = error
    }
  }
  // Reads on after a problem, because an idempotency key needs the hash of the whole body.
  for await (const chunk of chunks) decode(chunk)
  decode()
  if (problem !== undefined) throw new JsonSyntaxError(undefined, { cause: problem })
  return text
}

/**
 * Parses a JSON text. `keepsNumbers`: numbers that JavaScript would spell in another way become a `JsonNumber`.
 *
 * Throws {@link JsonSyntaxError}. Throws {@link TooManyValues} beyond `maxValues` values and keys, before any of them
 * takes memory.
 */
export function parseJson(text: string, maxValues: number, keepsNumbers = false): unknown {
  if (!hasAtMost(maxValues, text)) throw new TooManyValues()
  try {
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
function hasAtMost(max: number, json: string): boolean {
  let values = 1
  let isOpened = false
  for (let at = 0; at < json.length && values <= max; at++) {
    const code = json.charCodeAt(at)
    if (code === quote) at = endOfString(json, at)
    else if (code === comma || code === colon) values++
    else if (space.includes(code)) continue
    if (isOpened && !closing.includes(code)) values++
    isOpened = opening.includes(code)
  }
  return values <= max
}

/** Returns the offset of the quote that ends the string at `start`; the end of the text if there is none. */
function endOfString(json: string, start: number): number {
  let at = start + 1
  while (at < json.length && json.charCodeAt(at) !== quote) at += json.charCodeAt(at) === backslash ? 2 : 1
  return at
}
