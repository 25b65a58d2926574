import type { ValueType } from '@sluice/contract/value-type'
import { parseDatetime } from './datetime.ts'
import { parseDecimal, parsePointDecimal } from './decimal.ts'
import { parseInteger } from './int.ts'
import { type SpellingLoss, SpellingLosses } from './spelling.ts'

// This file and its imports also run in browsers, so they must not use Node's API.

/**
 * Infers the type of a new key from its values (design.md §3, Inference): datetime if all are datetimes, and int if all
 * are ints in range. If all are numbers, and at least one has a point, the type is decimal. Otherwise it is string.
 */
export class TextInference {
  #type: ValueType | undefined
  readonly #losses = new SpellingLosses()

  /** Adds the next value of the column. An empty value does not count. */
  add(text: string): void {
    // A string column stays a string column.
    if (text === '' || this.#type === 'string') return
    const type = narrowestType(text)
    this.#type = combine(this.#type, type)
    if (isNumeric(type)) this.#losses.add(text)
  }

  /** Returns the type of all values so far; undefined if there was none. */
  type(): ValueType | undefined {
    return this.#type
  }

  /** Returns what values so far lose in the inferred type. Only int and decimal lose anything. */
  losses(): SpellingLoss[] {
    return this.#type === 'int' || this.#type === 'decimal' ? this.#losses.in(this.#type) : []
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

function narrowestType(text: string): ValueType {
  if (parseInteger(text) !== undefined) return 'int'
  if (parsePointDecimal(text) !== undefined) return 'decimal'
  return parseDatetime(text) !== undefined ? 'datetime' : 'string'
}

function combine(column: ValueType | undefined, value: ValueType): ValueType {
  if (column === undefined || column === value) return value
  return isNumeric(column) && isNumeric(value) ? 'decimal' : 'string'
}

function isNumeric(type: ValueType): boolean {
  return type === 'int' || type === 'decimal'
}
