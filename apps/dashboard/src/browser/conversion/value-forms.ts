import { isOfType } from '@sluice/profiles/text-inference'

/** The offsets besides UTC that times without one may have: whole hours, and those of zones with other minutes. */
const offsets = [
  ...Array.from({ length: 27 }, (_, index) => index - 12)
    .filter((hours) => hours !== 0)
    .map((hours) => `${hours < 0 ? '-' : '+'}${twoDigits(String(Math.abs(hours)))}:00`),
  ...['-09:30', '-03:30', '-02:30', '+03:30', '+04:30', '+05:30', '+05:45', '+06:30', '+08:45', '+09:30', '+10:30'],
  ...['+12:45', '+13:45'],
].toSorted()

/** The forms of times, with an example: `date-time` has a space, as databases write it. */
const examples = {
  'day-first': '31/12/2025 14:30',
  'month-first': '12/31/2025 14:30',
  'date-time': '2024-03-31 02:30:00',
} as const

type TimeForm = keyof typeof examples
const timeForms = Object.keys(examples) as TimeForm[]

/** The offset of times without one follows the form; UTC by default. */
type OffsetForm = `${TimeForm}${'+' | '-'}${string}`

function formsOf(form: TimeForm): Record<OffsetForm, string> {
  return Object.fromEntries(offsets.map((offset) => [`${form}${offset}`, `${examples[form]}, at ${offset}`]))
}

/** How the values of a column are written, with the words that the page shows. A form is chosen, never detected. */
export const valueForms = {
  'as-is': 'Leave as they are',
  'decimal-comma': 'Numbers with a decimal comma',
  'day-first': 'Dates, day first, in UTC',
  'month-first': 'Dates, month first, in UTC',
  'date-time': `${examples['date-time']}, in UTC`,
  ...formsOf('date-time'),
  ...formsOf('day-first'),
  ...formsOf('month-first'),
} as const

export type ValueForm = keyof typeof valueForms

/** Returns the forms to choose from for a column. Dates have offsets if any has a time, or if one is `chosen`. */
export function offeredForms(values: readonly string[], chosen: ValueForm): Readonly<Record<ValueForm, string>> {
  const hasTimes = (form: ValueForm) =>
    values.some((value) => convertValue(value, form) !== value && convertValue(value, form)?.includes('T'))
  const isOffered = { 'day-first': hasTimes('day-first'), 'month-first': hasTimes('month-first'), 'date-time': true }
  const offered = Object.entries(valueForms).filter(([form]) => {
    const base = timeFormOf(form)
    return base === undefined || base === form || form === chosen || isOffered[base]
  })
  return Object.fromEntries(offered) as Record<ValueForm, string>
}

function timeFormOf(form: string): TimeForm | undefined {
  return timeForms.find((base) => form.startsWith(base))
}

/**
 * Digits in groups of three, with one kind of sign between all groups: a point, a space (also one that does not break)
 * or an apostrophe.
 */
const groups = String.raw`\d{1,3}(?<sign>[. \u00a0\u202f'’])\d{3}(?:\k<sign>\d{3})*`
const numberForm = new RegExp(
  String.raw`^(?<minus>[+-]?)(?<whole>${groups}|\d*)(?:,(?<fraction>\d+)(?<exponent>[eE][+-]?\d+)?)?$`,
)

/** Spreadsheets write large and small numbers with an exponent, and often without a decimal comma. */
const withExponent = /^[+-]?\d+[eE][+-]?\d+$/

/** A date and a time as databases write them. The offset may lack its minutes or its colon. */
const timeForm = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?) ?(?:(Z|UTC)|([+-]\d\d)(?::?(\d\d))?)?$/

const dateForm =
  /^(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:(?:, ?|[ T])(\d{1,2}):(\d\d)(?::(\d\d))?(?:[ \u00a0\u202f]?([AaPp])\.?[Mm]\.?)?)?$/

/**
 * Converts a value to the form that an import reads: a decimal comma to a point without grouping signs, or a date and
 * its time to ISO 8601. A time without an offset gets the offset of the form. If the form has none, the time stays
 * without one, which an import reads as UTC.
 *
 * Returns undefined if the value does not have the form, or is a date that does not exist. A number without a comma,
 * and a value that is ISO 8601 already, have the form.
 */
export function convertValue(text: string, form: ValueForm): string | undefined {
  if (form === 'as-is') return text
  if (form === 'decimal-comma') return withPoint(text)
  const base = timeFormOf(form) ?? 'date-time'
  const offset = form.slice(base.length)
  return base === 'date-time' ? isoTime(text, offset || 'Z') : isoDate(text, base, offset)
}

function isoTime(text: string, offset: string): string | undefined {
  const [, date, time, utc, hours, minutes = '00'] = timeForm.exec(text) ?? []
  const own = hours === undefined ? utc && 'Z' : `${hours}:${minutes}`
  const converted = date === undefined ? text : `${date}T${time}${own ?? offset}`
  return isOfType(converted, 'datetime') ? converted : undefined
}

function withPoint(text: string): string | undefined {
  if (withExponent.test(text)) return text
  const { minus, whole, fraction, exponent = '' } = numberForm.exec(text)?.groups ?? {}
  const digits = whole?.replaceAll(/\D/g, '')
  if (digits === undefined) return undefined
  if (fraction === undefined) return digits === '' ? undefined : `${minus}${digits}`
  return `${minus}${digits === '' ? '0' : digits}.${fraction}${exponent}`
}

function isoDate(text: string, form: 'day-first' | 'month-first', offset: string): string | undefined {
  const match = dateForm.exec(text)
  if (match === null && !isOfType(text, 'datetime')) return undefined
  if (match === null) return offset === '' ? text : isoTime(text, offset)
  const [, first = '', , second = '', year, hour, minute = '', seconds, half] = match
  const [day, month] = form === 'day-first' ? [first, second] : [second, first]
  const date = `${year}-${twoDigits(month)}-${twoDigits(day)}`
  const time = hour === undefined ? '' : clock({ hour, minute, seconds, half })
  const converted = time === undefined ? '' : `${date}${time}${time && offset}`
  return isOfType(converted, 'datetime') ? converted : undefined
}

interface Time {
  hour: string
  minute: string
  seconds: string | undefined
  /** The first letter of AM or PM; undefined on a clock of 24 hours. */
  half: string | undefined
}

/** Returns `Thh:mm` or `Thh:mm:ss`; undefined if the hour is not on a clock of 12 hours. */
function clock({ hour, minute, seconds, half }: Time): string | undefined {
  const number = Number(hour)
  if (half !== undefined && (number < 1 || number > 12)) return undefined
  const hours = half === undefined ? number : (number % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  return `T${twoDigits(String(hours))}:${minute}${seconds === undefined ? '' : `:${seconds}`}`
}

function twoDigits(number: string): string {
  return number.padStart(2, '0')
}

/** The share of values that may be written otherwise in a column whose form is suggested, such as `n/a`. */
const tolerated = 0.1

/**
 * Returns the forms that all values of a column have, if at least one value would change. Without such a form, the
 * forms that nearly all values have are returned. Empty values do not count. A page may suggest these forms, but a
 * person decides.
 */
export function possibleForms(given: readonly string[]): ValueForm[] {
  const values = given.filter((value) => value !== '')
  const found = (['decimal-comma', 'day-first', 'month-first', 'date-time'] as const).flatMap((form) => {
    const converted = values.map((value) => convertValue(value, form))
    const fitting = values.filter((_, index) => converted[index] !== undefined)
    if (fitting.every((value) => isOfType(value, 'datetime'))) return [] // an import reads them
    const others = values.length - fitting.length
    // A number without a comma may have an English point, which only looks like a grouping sign.
    const isChanged = (value: string, index: number) =>
      converted[index] !== undefined && value !== converted[index] && (form !== 'decimal-comma' || value.includes(','))
    return others <= tolerated * values.length && values.some(isChanged) ? [{ form, others }] : []
  })
  const fewest = Math.min(...found.map(({ others }) => others))
  return found.filter(({ others }) => others === fewest).map(({ form }) => form)
}
