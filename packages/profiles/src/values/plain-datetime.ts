import { areDigits, twoDigits, writeTwoDigits } from './digits.ts'

/** Bytes of `YYYY-MM-DD hh:mm:ss.mmm`. */
export const datetimeBytes = 23

const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e
const COLON = 0x3a
const SPACE = 0x20
const LETTER_T = 0x54
const LETTER_Z = 0x5a

const dateBytes = 10
const minutesPerDay = 24 * 60
const midnight = Buffer.from(' 00:00:00.000')

/**
 * Writes a datetime as it is stored, in UTC, if it is in one of the usual forms: `YYYY-MM-DD`, and that with `Thh:mm:ss`, with
 * or without milliseconds, and nothing, `Z` or `±hh:mm` behind. No string is made of it.
 *
 * Gives whether it did: false also where the calendar is needed to tell, such as at the end of a month.
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
  if (Number.isNaN(minutes)) return false
  const days = Math.floor(minutes / minutesPerDay)
  const day = twoDigits(source, start + 8) + days
  if (!isPlainDay(twoDigits(source, start + 5), day)) return false

  for (let index = 0; index < 8; index++) target[to + index] = source[start + index] ?? 0
  writeTwoDigits(target, to + 8, day)
  const ofDay = minutes - days * minutesPerDay
  target[to + 10] = SPACE
  writeTwoDigits(target, to + 11, Math.floor(ofDay / 60))
  target[to + 13] = COLON
  writeTwoDigits(target, to + 14, ofDay % 60)
  for (let index = 16; index < datetimeBytes; index++) {
    target[to + index] = (start + index < zone ? source[start + index] : midnight[index - dateBytes]) ?? 0
  }
  return true
}

/** Where `Z` or `±hh:mm` begins at the end of a datetime; the end where there is none. */
function zoneStart(source: Buffer, end: number): number {
  if (source[end - 1] === LETTER_Z) return end - 1
  return source[end - 6] === PLUS || source[end - 6] === MINUS ? end - 6 : end
}

/** Minutes east of UTC; NaN where it is no plain offset. */
function offsetMinutes(source: Buffer, start: number, end: number): number {
  if (end - start < 6) return 0
  const [hours, minutes] = [twoDigits(source, start + 1), twoDigits(source, start + 4)]
  if (source[start + 3] !== COLON || hours > 23 || minutes > 59) return Number.NaN
  return source[start] === MINUS ? -(hours * 60 + minutes) : hours * 60 + minutes
}

/** `YYYY-MM-DD` */
function isPlainDate(source: Buffer, start: number): boolean {
  if (source[start + 4] !== MINUS || source[start + 7] !== MINUS || !areDigits(source, start, start + 4)) return false
  return isPlainDay(twoDigits(source, start + 5), twoDigits(source, start + 8))
}

/** A day that the month has in every year, but for the 31st. */
function isPlainDay(month: number, day: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= (month === 2 ? 28 : 30)
}

/** `Thh:mm:ss` or `Thh:mm:ss.mmm` */
function isPlainTime(source: Buffer, start: number, end: number): boolean {
  const length = end - start
  if (length !== 9 && length !== 13) return false
  if (source[start] !== LETTER_T || source[start + 3] !== COLON || source[start + 6] !== COLON) return false
  const exists =
    twoDigits(source, start + 1) <= 23 && twoDigits(source, start + 4) <= 59 && twoDigits(source, start + 7) <= 59
  return exists && (length === 9 || (source[start + 9] === POINT && areDigits(source, start + 10, end)))
}
