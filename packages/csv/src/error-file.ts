import { SERVICE_ERRORS } from './dialect.ts'
import { LineWriter } from './line-writer.ts'

/**
 * Returns the header of an error file in UTF-8 (service.md, Error CSV file): SERVICE_ERRORS and the uploaded columns, without
 * an uploaded one of that name.
 */
export function errorFileHeader(columns: readonly string[]): Buffer {
  const lines = new LineWriter()
  for (const name of [SERVICE_ERRORS, ...columns.filter((name) => name !== SERVICE_ERRORS)]) {
    const bytes = Buffer.from(name)
    lines.value(bytes, 0, bytes.length)
  }
  lines.endLine()
  return lines.take()
}
