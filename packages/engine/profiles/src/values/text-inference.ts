import type { ValueType } from '@sluice/contract/value-type'
import { isNearlyDatetime, parseDatetime } from './datetime.ts'
import { parseDecimal } from './decimal.ts'
import { addExample, type InferenceWarning, maxExamples } from './inference-warning.ts'
import { parseInteger } from './int.ts'
import { SpellingLosses } from './spelling.ts'

// This file and its imports also run in browsers, so they must not use Node's API.

/**
 * Infers the type of a new key from its values (design.md §3, Inference; service.md, Bulk import CSV file): datetime if
 * all are datetimes, and int if all are ints in range. If all are numbers, and at least one has a point, the type is
 * decimal. Otherwise it is string.
 */
export class TextInference {
  /** Number of values of each form. */
  readonly #counts: Record<Form, number> = {
    int: 0,
    point: 0,
    exponent: 0,
    datetime: 0,
    'nearly datetime': 0,
    other: 0,
  }
  /** Examples of values that are no numbers, no datetimes, and of numbers with an exponent and no point. */
  readonly #examples = { noNumbers: [] as string[], noDatetimes: [] as string[], exponents: [] as string[] }
  readonly #losses = new SpellingLosses()

  /** Adds the next value of the column. An empty value does not count. */
  add(text: string): void {
    if (text === '') return
    const form = formOf(text)
    this.#counts[form]++
    if (form !== 'datetime') addExample(this.#examples.noDatetimes, text)
    if (form === 'exponent') addExample(this.#examples.exponents, text)
    if (form === 'int' || form === 'point' || form === 'exponent') this.#losses.add(text)
    else addExample(this.#examples.noNumbers, text)
  }

  /** Returns the type of all values so far; undefined if there was none. */
  type(): ValueType | undefined {
    const values = this.#values
    if (values === 0) return undefined
    if (this.#counts.datetime === values) return 'datetime'
    if (this.#numbers < values) return 'string'
    return this.#counts.point > 0 ? 'decimal' : 'int'
  }

  /**
   * Returns what values so far lose in the inferred type, if it is int or decimal. If it is string, returns which few
   * values are the reason for it.
   */
  warnings(): InferenceWarning[] {
    const type = this.type()
    if (type === 'int' || type === 'decimal') return this.#losses.in(type)
    const warning = type === 'string' ? this.#stringWarning() : undefined
    return warning === undefined ? [] : [warning]
  }

  get #values(): number {
    return Object.values(this.#counts).reduce((sum, count) => sum + count)
  }

  /** Number of values that are numbers. `12e5` may be an identifier, so it is one only beside a value with a point. */
  get #numbers(): number {
    const { int, point, exponent } = this.#counts
    return int + point + (point > 0 ? exponent : 0)
  }

  #stringWarning(): InferenceWarning | undefined {
    const values = this.#values
    const { datetime, 'nearly datetime': nearly, point } = this.#counts
    const { noNumbers, noDatetimes, exponents } = this.#examples
    const others = 'the others make the key a string'
    // second-day.md §1, Warnings.
    if (areMost(this.#numbers, values)) {
      const examples = point > 0 ? noNumbers : [...noNumbers, ...exponents].slice(0, maxExamples)
      return { message: `${this.#numbers} of ${values} values are numbers; ${others}`, examples }
    }
    if (areMost(datetime, values))
      return { message: `${datetime} of ${values} values are ISO 8601 date-times; ${others}`, examples: noDatetimes }
    if (!areMost(datetime + nearly, values)) return undefined
    const message = `${nearly} of ${values} values are date-times that only lack the T or the colon of the offset, which makes the key a string`
    return { message, examples: noDatetimes }
  }
}

/** Whether at least nine of ten values are counted. */
function areMost(count: number, values: number): boolean {
  return count * 10 >= values * 9
}

/** Whether a text can be a value of a type. The length of a string is not checked. */
export function isOfType(text: string, type: ValueType): boolean {
  switch (type) {
    case 'string':
      return true
    case 'int':
      return parseInteger(text) !== undefined
    case 'decimal':
      return parseDecimal(text) !== undefined
    case 'datetime':
      return parseDatetime(text) !== undefined
  }
}

/** What a value looks like. `exponent` is a number with an exponent and no point. */
type Form = 'int' | 'point' | 'exponent' | 'datetime' | 'nearly datetime' | 'other'

function formOf(text: string): Form {
  // A value with a leading + may be a phone number.
  if (!/^[-.\d]/.test(text)) return 'other'
  if (parseInteger(text) !== undefined) return 'int'
  if (parseDecimal(text) !== undefined) return text.includes('.') ? 'point' : 'exponent'
  if (parseDatetime(text) !== undefined) return 'datetime'
  return isNearlyDatetime(text) ? 'nearly datetime' : 'other'
}
