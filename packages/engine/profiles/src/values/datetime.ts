/** Options that decide which texts count as a datetime. */
export interface DatetimeOptions {
  /**
   * Refuse a date alone, and a time without `Z` or an offset. By default, such texts are in UTC (design.md §3, Types).
   */
  requireOffset?: boolean
}

const extendedFormat = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|[+-]\d\d(?::\d\d)?)?)?$/

const minutesPerDay = 24 * 60

/**
 * Parses a datetime in the extended format of ISO 8601 (design.md §3, Types; service.md, Profile entry): a date, or a
 * date, `T` and a time. The time has hours and minutes, and optionally seconds, a fraction, and `Z` or an offset.
 *
 * Returns it in UTC as `YYYY-MM-DD hh:mm:ss.mmm`, the form that is stored and shown. Digits after the millisecond are
 * cut off. Returns undefined for any other text, and for dates and times that do not exist (such as `24:00` and second
 * 60). Also returns undefined if the year in UTC is outside 0000 to 9999.
 */
export function parseDatetime(text: string, { requireOffset = false }: DatetimeOptions = {}): string | undefined {
  const match = extendedFormat.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '', offset] = match
  if (offset === undefined && requireOffset) return undefined
  if (hour > '23' || minute > '59' || second > '59') return undefined
  if (!exists(Number(year), Number(month), Number(day))) return undefined

  const offsetMinutes = parseOffset(offset)
  if (offsetMinutes === undefined) return undefined
  const minutes = Number(hour) * 60 + Number(minute) - offsetMinutes
  const days = Math.floor(minutes / minutesPerDay)
  const date = days === 0 ? text.slice(0, 10) : shiftDate(Number(year), Number(month), Number(day) + days)
  if (date === undefined) return undefined
  // service.md, Endpoints 2.
  return `${date} ${clock(minutes - days * minutesPerDay)}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}`
}

/**
 * Whether a text is no datetime, but would be one with `T` instead of the space, and with a colon in its offset. Many
 * databases write `2026-01-31 09:00:00+0000`.
 */
export function isNearlyDatetime(text: string): boolean {
  const corrected = text.replace(/^(.{10}) /, '$1T').replace(/([+-]\d\d)(\d\d)$/, '$1:$2')
  return corrected !== text && parseDatetime(corrected) !== undefined
}

/** Returns the minutes east of UTC; undefined if hours or minutes are out of range. */
function parseOffset(offset: string | undefined): number | undefined {
  if (offset === undefined || offset === 'Z') return 0
  const hours = Number(offset.slice(1, 3))
  const minutes = Number(offset.slice(4))
  if (hours > 23 || minutes > 59) return undefined
  const east = hours * 60 + minutes
  return offset.startsWith('-') ? -east : east
}

/**
 * Returns the date of a day, which may be one day before or after the month; undefined if its year is outside 0000 to
 * 9999.
 */
function shiftDate(year: number, month: number, day: number): string | undefined {
  const midnight = new Date(0)
  // Unlike Date.UTC, this does not read the years 0 to 99 as 1900 to 1999.
  midnight.setUTCFullYear(year, month - 1, day)
  const shifted = midnight.getUTCFullYear()
  return shifted < 0 || shifted > 9999 ? undefined : midnight.toISOString().slice(0, 10)
}

function clock(minutes: number): string {
  const two = (number: number) => (number < 10 ? `0${number}` : `${number}`)
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

function exists(year: number, month: number, day: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month)
}

/** Returns the days of a month in the proleptic Gregorian calendar, in which the year 0 is a leap year. */
function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}
