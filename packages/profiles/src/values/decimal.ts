import { parseInteger } from './int.ts'

const withPoint = /^[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?$/

/**
 * Parses a decimal with a point (design.md §3, Types). It has digits on at least one side of the point and an optional
 * exponent, and is finite as a double.
 *
 * Returns the nearest double (`-0.0` is 0); undefined for any other text.
 */
export function parsePointDecimal(text: string): number | undefined {
  if (!withPoint.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number + 0 : undefined
}

/**
 * Parses a decimal: an int in its range, or a number with a point (design.md §3, Types). Refuses an int out of range,
 * because a double would silently change its digits.
 */
export function parseDecimal(text: string): number | undefined {
  return parseInteger(text) ?? parsePointDecimal(text)
}
