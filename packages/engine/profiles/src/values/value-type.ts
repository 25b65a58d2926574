import { type ValueType, valueMessages } from '@sluice/contract'

/** The reason why a value cannot be stored. `message` follows the key's name: `age` + ` ` + `should be integer`. */
export interface ValueProblem {
  readonly message: string
}

/** The reason why a value of a row cannot be stored (service.md, Error CSV file). */
export interface RowProblem extends ValueProblem {
  readonly message: (typeof valueMessages)['notUtf8' | 'tooLong' | 'notInteger' | 'notDecimal' | 'notDatetime']
}

/** The bytes of a cell are not UTF-8, or they contain NUL, which cannot be stored (design.md §3, Strings). */
export const notUtf8: RowProblem = { message: 'should be UTF-8' }

/** A string is longer than its limit (service.md, Limits). */
export const tooLong: RowProblem = { message: 'should be at most 255 characters' }

/** The text is no value of the column's type. Any text is a value of type string. */
export const typeMismatch: Readonly<Record<Exclude<ValueType, 'string'>, RowProblem>> = {
  int: { message: valueMessages.notInteger },
  decimal: { message: valueMessages.notDecimal },
  datetime: { message: valueMessages.notDatetime },
}
