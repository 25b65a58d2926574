import { serviceErrorsColumn } from '@sluice/contract'
import { LineWriter } from './line-writer.ts'

/**
 * Returns the header of an error file in UTF-8 (service.md, Error CSV file). It is SERVICE_ERRORS followed by the
 * uploaded columns, without an uploaded SERVICE_ERRORS.
 *
 * @example
 * ```ts
 * errorFileHeader(['user_id', 'SERVICE_ERRORS', 'age']).toString() // → "SERVICE_ERRORS,user_id,age\n"
 * ```
 */
export function errorFileHeader(columns: readonly string[]): Buffer {
  const lines = new LineWriter()
  for (const name of [serviceErrorsColumn, ...columns.filter((name) => name !== serviceErrorsColumn)]) {
    const bytes = Buffer.from(name)
    lines.value(bytes, 0, bytes.length)
  }
  lines.endLine()
  return lines.take()
}
