import { isUtf8 } from 'node:buffer'
import type { ValueType } from '@sluice/contract'
import { parseDatetime } from './datetime.ts'
import { parseDecimal } from './decimal.ts'
import { parseInteger } from './int.ts'
import { plainNumber } from './plain-number.ts'
import { stringProblem } from './string.ts'
import { notUtf8, type RowProblem, typeMismatch } from './value-type.ts'

/**
 * Returns the text of a cell, which is `source` from `start` to `end` (service.md, Bulk import CSV file). Keeps a byte
 * order mark inside the cell.
 *
 * Returns undefined if the bytes are not UTF-8, or contain NUL, which cannot be stored (design.md §3, Strings).
 */
export function decodeCell(source: Buffer, start = 0, end = source.length): string | undefined {
  // Most cells are short ASCII. For these, reading each byte is cheaper than the calls below.
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
 * Converts a cell to its stored form.
 *
 * Accepts the bytes of a value that is not empty, and the type of its column. Returns the text that is stored, or the
 * problem if the value cannot be stored. Bytes that are not UTF-8 are reported before a wrong type.
 */
export function encodeCell(cell: Buffer, type: ValueType): string | RowProblem {
  const text = decodeCell(cell)
  if (text === undefined) return notUtf8
  switch (type) {
    case 'string':
      return stringProblem(text) ?? text
    case 'int':
      return encodeNumber(parseInteger(text)) ?? typeMismatch.int
    case 'decimal':
      return encodeNumber(parseDecimal(text)) ?? typeMismatch.decimal
    case 'datetime':
      return parseDatetime(text) ?? typeMismatch.datetime
  }
}

function encodeNumber(number: number | undefined): string | undefined {
  return number === undefined ? undefined : plainNumber(number)
}
