import { overLength } from './import-messages.ts'

/**
 * Returns why a text cannot be a name (a user ID or a profile key); undefined if it can. The caller puts the subject
 * before the message, as in `user_id must not be empty`. White space is part of a name
 * (service.md, Bulk import CSV file).
 *
 * Accepts the greatest length in Unicode code points.
 *
 * @example
 * ```ts
 * nameProblem(' alice ', 255) // → undefined
 * nameProblem('', 255) // → "must not be empty"
 * nameProblem('x'.repeat(256), 255) // → "should be at most 255 characters"
 * ```
 */
export function nameProblem(text: string, maxLength: number): string | undefined {
  if (text === '') return 'must not be empty'
  // service.md, Limits.
  if (isLonger(text, maxLength)) return overLength(maxLength)
  return textProblem(text)
}

/**
 * Returns why a text from JSON cannot be stored (design.md §3, Strings); undefined if it can. The caller puts the
 * subject before the message.
 *
 * A JSON text can escape both forbidden characters and still be valid UTF-8. The message for CSV files, which demands
 * UTF-8, would therefore mislead.
 *
 * @example
 * ```ts
 * textProblem('café') // → undefined
 * textProblem('a\0b') // → "should not contain U+0000"
 * textProblem('\ud83d') // → "should not contain a lone surrogate"
 * ```
 */
export function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'should not contain U+0000'
  return text.isWellFormed() ? undefined : 'should not contain a lone surrogate'
}

/** Characters that could control a terminal, start a new line, or reverse the following text. */
export const unprintable = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu

/** Maximum number of names in a message. A message becomes the subject of a mail and the answer of v2. */
const maxListedNames = 10

/**
 * Lists names for a message: at most ten names, then the number of further names. `nameOf` is called for each listed
 * name.
 *
 * @example
 * ```ts
 * listNames(['a', 'b']) // → "a, b"
 * ```
 */
export function listNames<Name>(names: readonly Name[], nameOf: (name: Name) => string = String): string {
  const more = names.length - maxListedNames
  const listed = names.slice(0, maxListedNames).map((name) => nameOf(name))
  return `${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/**
 * Whether a text has more Unicode code points than `codePoints`. The documents call them characters.
 *
 * @example
 * ```ts
 * isLonger('😀'.repeat(255), 255) // → false
 * isLonger('😀'.repeat(256), 255) // → true
 * ```
 */
export function isLonger(text: string, codePoints: number): boolean {
  // A code point is one or two UTF-16 units, so only texts between these lengths need counting.
  if (text.length <= codePoints || text.length > 2 * codePoints) return text.length > codePoints
  // Counts by units, because an iterator takes ten times as long and a request may have 10,000 names.
  let count = text.length
  for (let at = 1; at < text.length; at++) {
    if (isLowSurrogate(text.charCodeAt(at)) && isHighSurrogate(text.charCodeAt(at - 1))) count--
  }
  return count > codePoints
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdbff
const isLowSurrogate = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff
