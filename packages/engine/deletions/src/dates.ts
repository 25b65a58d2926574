/**
 * From acceptance to start: 6 × 24 hours, even if local clocks are changed meanwhile (design.md §3, Deletion dates).
 */
const untilStartMs = 6 * 24 * 60 * 60_000

/** When a deletion starts, and when it completes. */
export interface DeletionDates {
  startsAt: Date
  completesAt: Date
}

/**
 * Computes the dates of a deletion that was accepted at an instant. It starts 6 × 24 hours later. It completes at the
 * beginning of the 7th of the month after the start's month (design.md §3, Deletion dates;
 * service.md, States and transitions).
 *
 * `timeZone` is the IANA time zone of the calendar. Throws a RangeError if it is unknown.
 */
export function deletionDates(acceptedAt: Date, timeZone: string): DeletionDates {
  const startsAt = new Date(acceptedAt.getTime() + untilStartMs)
  const { year, month } = wallClock(startsAt, timeZone)
  return { startsAt, completesAt: startOfDay(year, month + 1, 7, timeZone) }
}

/** Returns the day of an instant in a time zone, as `YYYY-MM-DD`. */
export function localDay(instant: Date, timeZone: string): string {
  return new Date(wallTime(instant, timeZone)).toISOString().slice(0, 10)
}

/**
 * Returns the first instant of a day. If clocks are set forward at midnight, 00:00 does not exist, and the day begins
 * later. If clocks are set back over midnight, the first of the two times 00:00 counts.
 *
 * Months count from 0; 12 is January of the following year.
 */
function startOfDay(year: number, month: number, day: number, timeZone: string): Date {
  const midnight = Date.UTC(year, month, day)
  const [before, after] = [midnight - dayMs, midnight + dayMs].map((time) => offset(new Date(time), timeZone))
  const instants = [before, after].map((ahead = 0) => new Date(midnight - ahead))
  const existing = instants.filter((instant) => wallTime(instant, timeZone) === midnight)
  const earliest = existing.toSorted((a, b) => a.getTime() - b.getTime())[0]
  // This day has no 00:00. By the preceding offset, midnight is the instant of the change itself.
  return earliest ?? new Date(midnight - (before ?? 0))
}

const dayMs = 24 * 60 * 60_000

/** Returns how far the zone's clocks are ahead of UTC, ms. */
function offset(instant: Date, timeZone: string): number {
  return wallTime(instant, timeZone) - instant.getTime()
}

/** Returns the local time of the zone, read as if it were UTC, in epoch ms. */
function wallTime(instant: Date, timeZone: string): number {
  const { year, month, day, hour, minute, second } = wallClock(instant, timeZone)
  return Date.UTC(year, month, day, hour, minute, second, instant.getUTCMilliseconds())
}

/** Returns the local date and time of the zone. Months count from 0. */
function wallClock(instant: Date, timeZone: string) {
  const parts = formatOf(timeZone).formatToParts(instant)
  const shown = Object.fromEntries(parts.map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown
  return { year, month: month - 1, day, hour, minute, second }
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns the format of a time zone. Formats are kept, because creating a format takes far longer than using it. */
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
