import { fileMessages, standardPrefix, userIdColumn } from '@sluice/contract/import-messages'
import { limits } from '@sluice/contract/limits'
import { isLonger, listNames } from '@sluice/contract/name'
import { cellsOf } from './cells.ts'
import { columnError, position } from './column-error.ts'
import { FileError } from './file-error.ts'
import { HeaderReader, type HeaderRecord } from './header-form.ts'
import { isText } from './rows.ts'

export interface Header {
  /** The column names in file order, with `user_id`, and with SERVICE_ERRORS if it was uploaded. */
  columns: string[]
  /** Absolute offset of the first data row in the uncompressed stream, bytes. */
  end: number
}

/**
 * Reads the header of a file (service.md, Bulk import CSV file; service.md, What the service does; service.md, Limits;
 * design.md §3, Columns; design.md §3, Standard profiles). A leading BOM and leading blank lines are dropped. White
 * space in names is kept.
 *
 * Accepts uncompressed bytes from the start of the file. Ends the source after the chunk that completes the header.
 *
 * Throws {@link FileError} for the first problem in this order: empty file, quoting or size, missing line break or a CR
 * outside quotes that ends no line, empty names, names that are not UTF-8, duplicates, no `user_id`, names too long,
 * standard profiles. The message lists at most ten names with the problem.
 *
 * @example
 * ```ts
 * const file = Readable.from([Buffer.from('user_id,"age"\nalice,34\n')])
 * await readHeader(file) // → {"columns": ["user_id", "age"], "end": 14}
 * ```
 */
export async function readHeader(source: AsyncIterable<Buffer>): Promise<Header> {
  const { bytes: found, end } = await readHeaderRecord(source)
  const bytes = found as Buffer // as the chunks of the source
  const rowEnd = Float64Array.of(bytes.length)
  const cells = cellsOf({ bytes, start: 0, rowEnd, columns: Number.POSITIVE_INFINITY }, 0)
  const columns = cells.map((cell) => cell.toString('utf8'))
  const problem = headerProblem(bytes, cells, columns)
  if (problem !== undefined) throw problem
  return { columns, end }
}

async function readHeaderRecord(source: AsyncIterable<Buffer>): Promise<HeaderRecord> {
  const reader = new HeaderReader()
  for await (const chunk of source) {
    const header = reader.push(chunk)
    if (header !== undefined) return header
  }
  return reader.end()
}

/**
 * Returns the first problem of the names, with the documented message (service.md, Errors: 400); undefined if there is
 * none.
 */
function headerProblem(bytes: Buffer, cells: readonly Buffer[], columns: readonly string[]): FileError | undefined {
  if (columns.includes('')) return new FileError(fileMessages.emptyColumns)

  const notUtf8 = isText(bytes) ? [] : [...cells.keys()].filter((index) => !isText(cells[index] ?? bytes))
  if (notUtf8.length > 0) return new FileError(fileMessages.columnsNotUtf8(listNames(notUtf8, position)))

  const repeated = duplicates(columns)
  if (repeated.length > 0) return columnError(repeated, columns, fileMessages.duplicateColumns)

  if (!columns.includes(userIdColumn)) return new FileError(fileMessages.noUserIdColumn)

  const long = columns.filter((name) => isLonger(name, limits.keyLength))
  if (long.length > 0) return columnError(long, columns, fileMessages.columnsTooLong)

  const standard = columns.filter((name) => name.startsWith(standardPrefix))
  return standard.length === 0 ? undefined : columnError(standard, columns, fileMessages.standardProfiles)
}

/** Returns the names that occur more than once, each once, in order of first appearance. */
function duplicates(columns: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const name of columns) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].filter(([, count]) => count > 1).map(([name]) => name)
}
