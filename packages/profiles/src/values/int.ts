const integer = /^[+-]?\d+$/

/**
 * Parses an int: an optional sign and ASCII digits, within ±(2^53−1), so that it is exact as a number (design.md §3, Types).
 *
 * Gives the number (`-0` is 0), or undefined where the text is none.
 */
export function parseInteger(text: string): number | undefined {
  if (!integer.test(text)) return undefined
  const number = Number(text)
  // What is out of range rounds to 2^53 or further out, never into the range.
  return Number.isSafeInteger(number) ? number + 0 : undefined
}
