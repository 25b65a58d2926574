import { areDigits, twoDigits, writeTwoDigits } from './digits.ts'

/** Bytes of `YYYY-MM-DD hh:mm:ss.mmm`. */
export const datetimeBytes = 23

const minus = 0x2d
const plus = 0x2b
const point = 0x2e
const colon = 0x3a
const space = 0x20
const letterT = 0x54
const letterZ = 0x5a

const dateBytes = 10
const minutesPerDay = 24 * 60
const midnight = Buffer.from(' 00:00:00.000')

/**
 * Writes a datetime in its stored form, in UTC, without making a string of it.
 *
 * Accepts the usual forms: `YYYY-MM-DD`, or `YYYY-MM-DDThh:mm:ss` with an optional fraction and an optional `Z` or
 * `±hh:mm`. Returns whether it wrote the datetime. Returns false also if the calendar would be needed, as at the end of
 * a month.
 */
export function writePlainDatetime(source: Buffer, start: number, end: number, target: Buffer, to: number): boolean {
  if (end - start < dateBytes || !isPlainDate(source, start)) return false
  if (end - start === dateBytes) {
    source.copy(target, to, start, end)
    midnight.copy(target, to + dateBytes)
    return true
  }
  const zone = zoneStart(source, end)
  if (!isPlainTime(source, start + dateBytes, zone)) return false
  const minutes = twoDigits(source, start + 11) * 60 + twoDigits(source, start + 14) - offsetMinutes(source, zone, end)
  const days = Math.floor(minutes / minutesPerDay)
  const day = twoDigits(source, start + 8) + days
  // An invalid offset makes the day NaN.
  if (!isPlainDay(twoDigits(source, start + 5), day)) return false

  for (let index = 0; index < 8; index++) target[to + index] = source[start + index] ?? 0
  writeTwoDigits(target, to + 8, day)
  const minuteOfDay = minutes - days * minutesPerDay
  target[to + 10] = space
  writeTwoDigits(target, to + 11, Math.floor(minuteOfDay / 60))
  target[to + 13] = colon
  writeTwoDigits(target, to + 14, minuteOfDay % 60)
  for (let index = 16; index < datetimeBytes; index++) {
    target[to + index] = (start + index < zone ? source[start + index] : midnight[index - dateBytes]) ?? 0
  }
  return true
}

/** Returns the offset of the trailing `Z` or `±hh:mm` of a datetime; `end` if there is none. */
function zoneStart(source: Buffer, end: number): number {
  if (source[end - 1] === letterZ) return end - 1
  return source[end - 6] === plus || source[end - 6] === minus ? end - 6 : end
}

/**
 * Returns the minutes that an offset such as `+02:00` is east of UTC; 0 for `Z` or no offset, NaN if the offset is
 * invalid.
 */
function offsetMinutes(source: Buffer, start: number, end: number): number {
  if (end - start < 6) return 0
  const [hours, minutes] = [twoDigits(source, start + 1), twoDigits(source, start + 4)]
  if (source[start + 3] !== colon || hours > 23 || minutes > 59) return Number.NaN
  return source[start] === minus ? -(hours * 60 + minutes) : hours * 60 + minutes
}

/** Whether the bytes are `YYYY-MM-DD`. */
function isPlainDate(source: Buffer, start: number): boolean {
  if (source[start + 4] !== minus || source[start + 7] !== minus || !areDigits(source, start, start + 4)) return false
  return isPlainDay(twoDigits(source, start + 5), twoDigits(source, start + 8))
}

/** Whether the month has this day in every year. Excludes every 31st. */
function isPlainDay(month: number, day: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= (month === 2 ? 28 : 30)
}

/** Whether the bytes are `Thh:mm:ss`, or that with a point and digits. */
function isPlainTime(source: Buffer, start: number, end: number): boolean {
  if (source[start] !== letterT || source[start + 3] !== colon || source[start + 6] !== colon) return false
  const exists =
    twoDigits(source, start + 1) <= 23 && twoDigits(source, start + 4) <= 59 && twoDigits(source, start + 7) <= 59
  return exists && (end - start === 9 || (source[start + 9] === point && areDigits(source, start + 10, end)))
}
