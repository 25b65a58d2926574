import { isUtf8 } from 'node:buffer'
import type { ValueType } from '@sluice/contract'
import { parseDatetime } from './datetime.ts'
import { parseDecimal } from './decimal.ts'
import { parseInteger } from './int.ts'
import { stringProblem } from './string.ts'
import { notUtf8, type RowProblem, typeMismatch } from './value-type.ts'

/**
 * The text of a cell, given by where it lies, or undefined where its bytes are not UTF-8 or hold NUL, which can't be stored (design.md §3, Strings).
 * A byte order mark inside a cell is kept.
 */
export function decodeCell(source: Buffer, start = 0, end = source.length): string | undefined {
  // Most cells are short ASCII: then one look at each byte is cheaper than the calls below.
  for (let at = start; at < end; at++) {
    const byte = source[at] ?? 0
    if (byte === 0) return undefined
    if (byte >= 0x80) return decodeText(source.subarray(start, end))
  }
  return source.toString('latin1', start, end)
}

function decodeText(cell: Buffer): string | undefined {
  return isUtf8(cell) && !cell.includes(0) ? cell.toString('utf8') : undefined
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
