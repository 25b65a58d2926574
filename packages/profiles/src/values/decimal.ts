import { parseInteger } from './int.ts'

const withPoint = /^[+-]?(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?$/

/**
 * Parses a decimal written with a point: digits on at least one side of it, an optional exponent, finite as a double
 * (design.md §3, Types).
 *
 * Gives the nearest double (`-0.0` is 0), or undefined where the text is none.
 */
export function parsePointDecimal(text: string): number | undefined {
  if (!withPoint.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number + 0 : undefined
}

/**
 * Parses a decimal: an int in its range, or a number with a point (design.md §3, Types). An int out of range is refused
 * here too, as a double would silently change its digits.
 */
export function parseDecimal(text: string): number | undefined {
  return parseInteger(text) ?? parsePointDecimal(text)
}
