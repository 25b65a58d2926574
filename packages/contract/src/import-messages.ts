import { limits } from './limits.ts'

/** The column of a file that names the user of a row; required (service.md, Bulk import CSV file). */
export const userIdColumn = 'user_id'

/**
 * The column of an error file that holds the messages of a row. Imports ignore it (service.md, Bulk import CSV file).
 */
export const serviceErrorsColumn = 'SERVICE_ERRORS'

/** Keys with this prefix are standard user profiles, which clients cannot update (design.md §3, Standard profiles). */
export const standardPrefix = '$'

/** Returns the message about a text that is too long; the name of the text precedes the message. */
export function overLength<Limit extends number>(limit: Limit) {
  return `should be at most ${limit} characters` as const
}

/** Messages about a row as a whole (service.md, Error CSV file; design.md §3). */
export const rowMessages = {
  unclosedQuote: 'quote is not closed',
  /** The record has more than {@link limits.recordBytes}. */
  tooLong: 'row is too long',
  tooManyValues: 'too many values',
} as const

/** Messages about one value of a row. The name of the column precedes them: `age should be integer`. */
export const valueMessages = {
  unregisteredUser: 'is unregistered user',
  notUtf8: 'should be UTF-8',
  notInteger: 'should be integer',
  notDecimal: 'should be decimal',
  notDatetime: 'should be iso8601 format',
  /** Only the profile update endpoint has this message, because any text of a file is a string. */
  notString: 'should be string',
  tooLong: overLength(limits.stringLength),
  /** Only in the error file of an undo. */
  changedSince: 'was changed since',
} as const

/**
 * Returns a message with 0 instead of each figure, to compare messages whatever their figures are.
 *
 * @example
 * ```ts
 * withoutFigures('could not be processed in 5 attempts') // → "could not be processed in 0 attempts"
 * ```
 */
export function withoutFigures(message: string): string {
  return message.replaceAll(/\d+/g, '0')
}

/** Messages about a file as a whole, in the answer of v2 and in the result mail (service.md, Errors; design.md §3). */
export const fileMessages = {
  empty: 'empty file',
  notGzip: 'not in gzip format',
  corrupt: 'file maybe corrupt',
  tooLarge: (limitBytes: number) => `file size over ${limitBytes} bytes`,
  uncompressedTooLarge: (limitBytes: number) => `uncompressed size over ${limitBytes} bytes`,
  wrongSize: (storedBytes: number, declaredBytes: number) =>
    `the uploaded file has ${storedBytes} bytes instead of ${declaredBytes}`,
  headerTooLarge: `header size over ${limits.headerBytes} bytes`,
  headerQuote: `${rowMessages.unclosedQuote} in header`,
  noLineBreak: 'newline character not found',
  emptyColumns: 'empty columns',
  columnsNotUtf8: (columns: string) => `${columns} ${valueMessages.notUtf8}`,
  duplicateColumns: (columns: string) => `duplicate columns ${columns}`,
  noUserIdColumn: `${userIdColumn} column is required`,
  columnsTooLong: (columns: string) => `${columns} ${overLength(limits.keyLength)}`,
  standardProfiles: (keys: string) => `standard user profile cannot be updated: ${keys}`,
  declaredColumnsMissing: (keys: string) => `declared columns are missing: ${keys}`,
  keysNotRegistered: (keys: string) => `profile keys are not registered: ${keys}`,
  otherType: (key: string, type: string) => `${key} is registered as ${type}`,
  // design.md §3, Placeholders in messages.
  tooManyKeys: (limit: number) => `This app has exceeded the limit of enabled user profile(${limit})`,
  fileGone: 'the uploaded file is gone',
  changesFileGone: 'the changes file was removed',
  fileReplaced: 'the uploaded file was replaced',
  /** The limit is the text of the setting. */
  notApproved: (limit: string) => `held for ${limit} without approval`,
  tooManyAttempts: (attempts: number) => `could not be processed in ${attempts} attempts`,
} as const

/** Messages about disabled keys: to an update or export with one, and the warning of an import with its column. */
export const keyMessages = {
  disabled: (key: string) => `${key} is disabled`,
  columnIgnored: 'the column is ignored: its key is disabled',
} as const
