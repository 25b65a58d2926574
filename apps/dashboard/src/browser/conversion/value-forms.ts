import { isOfType } from '@sluice/profiles/text-inference'

/** How the values of a column are written, with the words that the page shows. A form is chosen, never detected. */
export const valueForms = {
  'as-is': 'Leave as they are',
  'decimal-comma': 'Numbers with a decimal comma',
  'day-first': 'Dates, day first',
  'month-first': 'Dates, month first',
} as const

export type ValueForm = keyof typeof valueForms

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

const dateForm =
  /^(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:(?:, ?|[ T])(\d{1,2}):(\d\d)(?::(\d\d))?(?:[ \u00a0\u202f]?([AaPp])\.?[Mm]\.?)?)?$/

/**
 * Converts a value to the form that an import reads: a decimal comma to a point without grouping signs, or a date and
 * its time to ISO 8601. A time without an offset stays without one, which an import reads as UTC.
 *
 * Returns undefined if the value does not have the form, or is a date that does not exist. A number without a comma,
 * and a value that is ISO 8601 already, have the form.
 */
export function convertValue(text: string, form: ValueForm): string | undefined {
  if (form === 'as-is') return text
  return form === 'decimal-comma' ? withPoint(text) : isoDate(text, form)
}

function withPoint(text: string): string | undefined {
  if (withExponent.test(text)) return text
  const { minus, whole, fraction, exponent = '' } = numberForm.exec(text)?.groups ?? {}
  const digits = whole?.replaceAll(/\D/g, '')
  if (digits === undefined) return undefined
  if (fraction === undefined) return digits === '' ? undefined : `${minus}${digits}`
  return `${minus}${digits === '' ? '0' : digits}.${fraction}${exponent}`
}

function isoDate(text: string, form: 'day-first' | 'month-first'): string | undefined {
  const match = dateForm.exec(text)
  if (match === null) return isOfType(text, 'datetime') ? text : undefined
  const [, first = '', , second = '', year, hour, minute = '', seconds, half] = match
  const [day, month] = form === 'day-first' ? [first, second] : [second, first]
  const date = `${year}-${twoDigits(month)}-${twoDigits(day)}`
  const time = hour === undefined ? '' : clock({ hour, minute, seconds, half })
  const converted = time === undefined ? '' : date + time
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

/**
 * Returns the forms that all values of a column have, if at least one value would change. Empty values do not count. A
 * page may suggest these forms, but a person decides.
 */
export function possibleForms(values: readonly string[]): ValueForm[] {
  const forms = ['decimal-comma', 'day-first', 'month-first'] as const
  return forms.filter((form) => {
    const converted = values.map((value) => (value === '' ? '' : convertValue(value, form)))
    // A number without a comma may have an English point, which only looks like a grouping sign.
    const isChanged = (value: string, index: number) =>
      value !== converted[index] && (form !== 'decimal-comma' || value.includes(','))
    return !converted.includes(undefined) && values.some(isChanged)
  })
}
