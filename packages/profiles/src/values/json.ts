import { textProblem, type ValueType } from '@sluice/contract'
import { parseDatetime } from './datetime.ts'
import { stringProblem } from './string.ts'
import { typeMismatch, type ValueProblem } from './value-type.ts'

const noString: ValueProblem = { message: 'should be string' }

/**
 * Turns a value of a client's JSON into what is stored (service.md, Profile entry; design.md §3, Types). Nothing is
 * converted from one JSON type to another: `"12"` is no int. A datetime needs its offset.
 *
 * Gives the value, a datetime in UTC as `YYYY-MM-DD hh:mm:ss.mmm`; or why it can't be stored.
 */
export function parseJsonValue(value: unknown, type: ValueType): string | number | ValueProblem {
  switch (type) {
    case 'string':
      return typeof value === 'string' ? parseString(value) : noString
    case 'int':
      // What is out of range was rounded when the JSON was parsed, but never into the range. -0 becomes 0.
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
