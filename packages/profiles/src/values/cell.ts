import { isUtf8 } from 'node:buffer'
import type { ValueType } from '@sluice/contract'
import { parseDatetime } from './datetime.ts'
import { parseDecimal } from './decimal.ts'
import { parseInteger } from './int.ts'
import { stringProblem } from './string.ts'
import { notUtf8, type RowProblem, typeMismatch } from './value-type.ts'

/**
 * The text of a cell, or undefined where its bytes are not UTF-8 or hold NUL, which can't be stored (design.md §3, Strings).
 * A byte order mark inside a cell is kept.
 */
export function decodeCell(cell: Buffer): string | undefined {
  // Most cells are short ASCII: then one look at each byte is cheaper than the calls below.
  for (const byte of cell) {
    if (byte === 0) return undefined
    if (byte >= 0x80) return isUtf8(cell) && !cell.includes(0) ? cell.toString('utf8') : undefined
  }
  return cell.toString('latin1')
}

/**
 * Turns a cell into what is stored.
 *
 * Takes the raw bytes of a value that is not empty, and the type of its column. Gives the JSON text of the value (`12`,
 * `"text"`), or why it can't be stored: bytes that are not UTF-8 come before a value that is not of the type.
 */
export function encodeCell(cell: Buffer, type: ValueType): string | RowProblem {
  const text = decodeCell(cell)
  if (text === undefined) return notUtf8
  switch (type) {
    case 'string':
      return stringProblem(text) ?? JSON.stringify(text)
    case 'int':
      return encodeNumber(parseInteger(text)) ?? typeMismatch.int
    case 'decimal':
      return encodeNumber(parseDecimal(text)) ?? typeMismatch.decimal
    case 'datetime': {
      const datetime = parseDatetime(text)
      // Digits and punctuation only: nothing to escape.
      return datetime === undefined ? typeMismatch.datetime : `"${datetime}"`
    }
  }
}

function encodeNumber(number: number | undefined): string | undefined {
  return number === undefined ? undefined : String(number)
}
