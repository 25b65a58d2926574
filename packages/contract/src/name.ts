/**
 * What is wrong with a text that names something, a user ID or a profile key, in words that follow what it is called;
 * undefined for a good one. White space is part of a name (service.md, Bulk import CSV file).
 *
 * Takes the text and its greatest length in Unicode code points.
 */
export function nameProblem(text: string, maxLength: number): string | undefined {
  if (text === '') return 'must not be empty'
  if (isLonger(text, maxLength)) return `should be at most ${maxLength} characters`
  return textProblem(text)
}

/**
 * Says why a text out of JSON cannot be stored (design.md §3, Strings), in words that follow what it is called; undefined for
 * a good one. JSON can escape both characters in good UTF-8, so the words for bytes of a CSV file would mislead.
 */
export function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'should not contain U+0000'
  return text.isWellFormed() ? undefined : 'should not contain a lone surrogate'
}

/** Whether a text has more Unicode code points than that: what the documents call characters. */
export function isLonger(text: string, codePoints: number): boolean {
  // A code point is one or two UTF-16 units: only texts in between need counting.
  if (text.length <= codePoints || text.length > 2 * codePoints) return text.length > codePoints
  // By units, as an iterator takes ten times as long: a request may bring 10,000 names.
  let count = text.length
  for (let at = 1; at < text.length; at++) {
    if (isLowSurrogate(text.charCodeAt(at)) && isHighSurrogate(text.charCodeAt(at - 1))) count--
  }
  return count > codePoints
}

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdbff
const isLowSurrogate = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff
