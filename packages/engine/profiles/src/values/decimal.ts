import { parseInteger } from './int.ts'

/** A number with a point, an exponent or both. It has digits on at least one side of the point. */
const withPointOrExponent = /^[+-]?(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)$/

/**
 * Parses a decimal: an int in its range, or a number with a point and/or an exponent that is finite as a double
 * (design.md §3, Types; service.md, Profile entry). Refuses an int out of range, because a double would silently change
 * its digits.
 *
 * Returns the nearest double (`-0.0` is 0); undefined for any other text.
 */
export function parseDecimal(text: string): number | undefined {
  if (!withPointOrExponent.test(text)) return parseInteger(text)
  const number = Number(text)
  return Number.isFinite(number) ? number + 0 : undefined
}
