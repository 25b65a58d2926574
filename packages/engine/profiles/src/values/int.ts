const integer = /^[+-]?\d+$/

/**
 * Parses an int (design.md §3, Types; service.md, Profile entry): an optional sign and ASCII digits, within ±(2^53−1),
 * so that it is exact as a number.
 *
 * Returns the number (`-0` is 0); undefined for any other text.
 */
export function parseInteger(text: string): number | undefined {
  if (!integer.test(text)) return undefined
  const number = Number(text)
  // A number out of range rounds to ±2^53 or beyond, never into the range.
  return Number.isSafeInteger(number) ? number + 0 : undefined
}
