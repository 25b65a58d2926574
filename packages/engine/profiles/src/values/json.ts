import { JsonNumber, textProblem, type ValueType, valueMessages } from '@sluice/contract'
import { parseDatetime } from './datetime.ts'
import { parseDecimal } from './decimal.ts'
import { parseInteger } from './int.ts'
import { stringProblem } from './string.ts'
import { typeMismatch, type ValueProblem } from './value-type.ts'

const noString: ValueProblem = { message: valueMessages.notString }

/**
 * Converts a value of a client's JSON to its stored form (service.md, Profile entry; design.md §3, Types). Converts no
 * JSON type to another: `"12"` is no int. A number follows the rules of a cell, by its spelling. A datetime requires an
 * offset.
 *
 * Returns the value, or the problem if it cannot be stored. A datetime is returned in UTC as `YYYY-MM-DD hh:mm:ss.mmm`.
 */
export function parseJsonValue(value: unknown, type: ValueType): string | number | ValueProblem {
  switch (type) {
    case 'string':
      return typeof value === 'string' ? parseString(value) : noString
    case 'int':
      return parseInteger(spellingOf(value)) ?? typeMismatch.int
    case 'decimal':
      return parseDecimal(spellingOf(value)) ?? typeMismatch.decimal
    case 'datetime': {
      const datetime = typeof value === 'string' ? parseDatetime(value, { requireOffset: true }) : undefined
      return datetime ?? typeMismatch.datetime
    }
  }
}

/** Returns a number as text; an empty text for any other value. */
function spellingOf(value: unknown): string {
  if (value instanceof JsonNumber) return value.text
  return typeof value === 'number' ? String(value) : ''
}

function parseString(text: string): string | ValueProblem {
  const message = textProblem(text)
  return message === undefined ? (stringProblem(text) ?? text) : { message }
}
