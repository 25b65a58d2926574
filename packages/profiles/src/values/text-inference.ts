import type { ValueType } from '@sluice/contract/value-type'
import { parseDatetime } from './datetime.ts'
import { parseDecimal } from './decimal.ts'
import { parseInteger } from './int.ts'
import { type SpellingLoss, SpellingLosses } from './spelling.ts'

// This file and its imports also run in browsers, so they must not use Node's API.

/**
 * Infers the type of a new key from its values (design.md §3, Inference): datetime if all are datetimes, and int if all
 * are ints in range. If all are numbers, and at least one has a point, the type is decimal. Otherwise it is string.
 */
export class TextInference {
  /** Number of values of each form. */
  readonly #counts: Record<Form, number> = { int: 0, point: 0, exponent: 0, datetime: 0, other: 0 }
  readonly #losses = new SpellingLosses()

  /** Adds the next value of the column. An empty value does not count. */
  add(text: string): void {
    if (text === '') return
    const form = formOf(text)
    this.#counts[form]++
    if (form === 'int' || form === 'point' || form === 'exponent') this.#losses.add(text)
  }

  /** Returns the type of all values so far; undefined if there was none. */
  type(): ValueType | undefined {
    const { int, point, exponent, datetime, other } = this.#counts
    const numbers = int + point + exponent
    if (numbers + datetime + other === 0) return undefined
    if (other > 0 || (numbers > 0 && datetime > 0)) return 'string'
    if (datetime > 0) return 'datetime'
    if (point > 0) return 'decimal'
    return exponent > 0 ? 'string' : 'int'
  }

  /** Returns what values so far lose in the inferred type. Only int and decimal lose anything. */
  losses(): SpellingLoss[] {
    const type = this.type()
    return type === 'int' || type === 'decimal' ? this.#losses.in(type) : []
  }
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

/** What a value looks like. A number with an exponent and no point, such as `12e5`, may be an identifier. */
type Form = 'int' | 'point' | 'exponent' | 'datetime' | 'other'

function formOf(text: string): Form {
  // A value with a leading + may be a phone number.
  if (text.startsWith('+')) return 'other'
  if (parseInteger(text) !== undefined) return 'int'
  if (parseDecimal(text) !== undefined) return text.includes('.') ? 'point' : 'exponent'
  return parseDatetime(text) !== undefined ? 'datetime' : 'other'
}
