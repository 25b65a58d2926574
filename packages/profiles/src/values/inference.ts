import type { ValueType } from '@sluice/contract'
import { decodeCell } from './cell.ts'
import { parseDatetime } from './datetime.ts'
import { parsePointDecimal } from './decimal.ts'
import { parseInteger } from './int.ts'

/**
 * Infers the type of a new key from its values (design.md §3, Inference): all of them datetimes → datetime; all numbers,
 * one at least with a point → decimal; all ints in range → int; else string.
 */
export class ColumnInference {
  #type: ValueType | undefined

  /** Takes the next cell of the column. An empty one, and one that is not UTF-8, doesn't count. */
  add(cell: Buffer): void {
    // A string column stays one.
    if (cell.length === 0 || this.#type === 'string') return
    const text = decodeCell(cell)
    if (text === undefined) return
    this.#type = combine(this.#type, narrowestType(text))
  }

  /** The type of all the values so far; undefined while there was none. */
  type(): ValueType | undefined {
    return this.#type
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
