import { textProblem, type ValueType, valueMessages } from '@sluice/contract'
import { parseDatetime } from './datetime.ts'
import { stringProblem } from './string.ts'
import { typeMismatch, type ValueProblem } from './value-type.ts'

const noString: ValueProblem = { message: valueMessages.notString }

/**
 * Converts a value of a client's JSON to its stored form (service.md, Profile entry; design.md §3, Types). Converts no
 * JSON type to another: `"12"` is no int. A datetime requires an offset.
 *
 * Returns the value, or the problem if it cannot be stored. A datetime is returned in UTC as `YYYY-MM-DD hh:mm:ss.mmm`.
 */
export function parseJsonValue(value: unknown, type: ValueType): string | number | ValueProblem {
  switch (type) {
    case 'string':
      return typeof value === 'string' ? parseString(value) : noString
    case 'int':
      // Parsing the JSON rounded a number out of range, but never into the range. Adding 0 makes -0 a 0.
      return typeof value === 'number' && Number.isSafeInteger(value) ? value + 0 : typeMismatch.int
    case 'decimal':
      return typeof value === 'number' && Number.isFinite(value) ? value + 0 : typeMismatch.decimal
    case 'datetime': {
      const datetime = typeof value === 'string' ? parseDatetime(value, { requireOffset: true }) : undefined
      return datetime ?? typeMismatch.datetime
    }
  }
}

function parseString(text: string): string | ValueProblem {
  const message = textProblem(text)
  return message === undefined ? (stringProblem(text) ?? text) : { message }
}
