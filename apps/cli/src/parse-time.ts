import { parseDatetime } from '@sluice/profiles'
import { InvalidArgumentError } from 'commander'

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The forms of {@link parseTime}, for the help of an option. */
export const timeForms = 'ISO 8601, in UTC unless it has an offset, or 90m, 12h or 7d ago'

/**
 * Parses the time of an option: a datetime as in files (design.md §3, Types), or an age in minutes, hours or days.
 * Throws `InvalidArgumentError` for any other text.
 */
export function parseTime(text: string): Date {
  const [, amount, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  if (amount !== undefined) return new Date(Date.now() - Number(amount) * (unitsMs[unit] ?? 0))
  const datetime = parseDatetime(text)
  if (datetime === undefined) throw new InvalidArgumentError('It must be a time such as 2026-03-07T00:00:00Z, or 7d.')
  return new Date(`${datetime.replace(' ', 'T')}Z`)
}
