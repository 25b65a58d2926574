/** From acceptance to start, ms: 6 times 24 hours, whatever the clocks on the wall do (design.md §3, Deletion dates). */
const untilStart = 6 * 24 * 60 * 60_000

/** When a deletion starts and when it completes. */
export interface DeletionDates {
  startsAt: Date
  completesAt: Date
}

/**
 * The dates of a deletion that was accepted at an instant: it starts 6 × 24 hours later, and completes at the beginning
 * of the 7th of the month after the month of the start (design.md §3, Deletion dates).
 *
 * Takes an IANA time zone, in which months and days are those of the calendar. Throws a RangeError for an unknown one.
 */
export function deletionDates(acceptedAt: Date, timeZone: string): DeletionDates {
  const startsAt = new Date(acceptedAt.getTime() + untilStart)
  const { year, month } = wallClock(startsAt, timeZone)
  return { startsAt, completesAt: startOfDay(year, month + 1, 7, timeZone) }
}

/** The day of an instant in a time zone, as `YYYY-MM-DD`. */
export function localDay(instant: Date, timeZone: string): string {
  return new Date(wallTime(instant, timeZone)).toISOString().slice(0, 10)
}

/**
 * The first instant of a day. Where clocks are set forward at midnight that is later than 00:00, which does not exist;
 * where they are set back over midnight it is the first 00:00 of the two.
 *
 * Takes the month from 0, and 12 for the January after.
 */
function startOfDay(year: number, month: number, day: number, timeZone: string): Date {
  const midnight = Date.UTC(year, month, day)
  const [before, after] = [midnight - dayLength, midnight + dayLength].map((time) => offset(new Date(time), timeZone))
  const instants = [before, after].map((ahead = 0) => new Date(midnight - ahead))
  const existing = instants.filter((instant) => wallTime(instant, timeZone) === midnight)
  const earliest = existing.toSorted((a, b) => a.getTime() - b.getTime())[0]
  // No 00:00 on this day: by the offset from before the change, midnight is the instant of the change itself.
  return earliest ?? new Date(midnight - (before ?? 0))
}

const dayLength = 24 * 60 * 60_000

/** How far the clocks of the zone are ahead of UTC, ms. */
function offset(instant: Date, timeZone: string): number {
  return wallTime(instant, timeZone) - instant.getTime()
}

/** What the clocks of the zone show, read as if it were UTC: ms since the epoch. */
function wallTime(instant: Date, timeZone: string): number {
  const { year, month, day, hour, minute, second } = wallClock(instant, timeZone)
  return Date.UTC(year, month, day, hour, minute, second, instant.getUTCMilliseconds())
}

/** What the clocks of the zone show; months count from 0. */
function wallClock(instant: Date, timeZone: string) {
  const parts = formatOf(timeZone).formatToParts(instant)
  const shown = Object.fromEntries(parts.map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown
  return { year, month: month - 1, day, hour, minute, second }
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Making a format takes far longer than using one. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const numeric = 'numeric'
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  })
  formats.set(timeZone, format)
  return format
}
