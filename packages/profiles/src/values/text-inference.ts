import type { ValueType } from '@sluice/contract/value-type'
import { parseDatetime } from './datetime.ts'
import { parseDecimal, parsePointDecimal } from './decimal.ts'
import { parseInteger } from './int.ts'

// Runs in browsers as well: this file and what it imports know nothing of Node.

/**
 * Infers the type of a new key from its values (design.md §3, Inference): all of them datetimes → datetime; all numbers,
 * one at least with a point → decimal; all ints in range → int; else string.
 */
export class TextInference {
  #type: ValueType | undefined

  /** Takes the next value of the column. An empty one doesn't count. */
  add(text: string): void {
    // A string column stays one.
    if (text === '' || this.#type === 'string') return
    this.#type = combine(this.#type, narrowestType(text))
  }

  /** The type of all the values so far; undefined while there was none. */
  type(): ValueType | undefined {
    return this.#type
  }
}

/** Whether a text can be a value of a type; how long a string may be is not looked at. */
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
