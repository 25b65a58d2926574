import { serviceErrorsColumn } from '@sluice/contract/import-messages'
import { LineWriter } from './line-writer.ts'

/**
 * Returns the header of an error file in UTF-8 (service.md, Error CSV file; design.md §3, Error file). It is
 * SERVICE_ERRORS followed by the uploaded columns, without an uploaded SERVICE_ERRORS.
 *
 * @example
 * ```ts
 * errorFileHeader(['user_id', 'SERVICE_ERRORS', 'age']).toString() // → "SERVICE_ERRORS,user_id,age\n"
 * ```
 */
export function errorFileHeader(columns: readonly string[]): Buffer {
  return headerLine([serviceErrorsColumn, ...columns.filter((name) => name !== serviceErrorsColumn)])
}

/**
 * Returns the first line of a file with these columns, in UTF-8.
 *
 * @example
 * ```ts
 * headerLine(['user_id', 'a,b']).toString() // → "user_id,\"a,b\"\n"
 * ```
 */
export function headerLine(columns: readonly string[]): Buffer {
  const lines = new LineWriter()
  for (const name of columns) {
    const bytes = Buffer.from(name)
    lines.value(bytes, 0, bytes.length)
  }
  lines.endLine()
  return lines.take()
}
