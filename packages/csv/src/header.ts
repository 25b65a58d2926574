import { fileMessages, isLonger, limits, standardPrefix, userIdColumn } from '@sluice/contract'
import { cellsOf } from './cells.ts'
import { columnError, listNames, position } from './column-error.ts'
import { FileError } from './file-error.ts'
import { contentEnd, pastCrs } from './line-ends.ts'
import { isText } from './row-block.ts'
import { type Scan, scanRecord, startScan } from './scan.ts'
import { byteOrderMark, cr, lf } from './special-bytes.ts'

/** Maximum number of bytes of a line before the first row, with the CRs and the LF at its end. */
const longestLine = 2 * limits.headerBytes

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
  const { bytes, end } = await readHeaderRecord(source)
  const rowEnd = Float64Array.of(bytes.length)
  const cells = cellsOf({ bytes, start: 0, rowEnd, columns: Number.POSITIVE_INFINITY }, 0)
  const columns = cells.map((cell) => cell.toString('utf8'))
  const problem = headerProblem(bytes, cells, columns)
  if (problem !== undefined) throw problem
  return { columns, end }
}

/**
 * Reads the bytes of the header with its line break. Returns them with the absolute offset of the byte that follows.
 */
async function readHeaderRecord(source: AsyncIterable<Buffer>): Promise<{ bytes: Buffer; end: number }> {
  const { headerBytes } = limits
  let data: Buffer = Buffer.alloc(0)
  let offset = 0
  let scan = startScan(0)
  for await (const chunk of source) {
    data = Buffer.concat([data, chunk])
    const ignored = ignoredPrefix(data, offset)
    if (ignored > 0) {
      data = data.subarray(ignored)
      offset += ignored
      scan = startScan(0)
    }
    // A header of full size may be followed by CRs and LF.
    scanRecord(data, scan, Math.min(data.length, pastCrs(data, headerBytes) + 1, longestLine))
    const bytes = data.subarray(0, scan.at)
    if (hasLoneCr(bytes)) throw new FileError(fileMessages.noLineBreak)
    if (scan.state === 'broken') throw new FileError(fileMessages.headerQuote)
    const length = scan.state === 'quoted' ? scan.at : contentEnd(bytes, 0, scan.at)
    if (length > headerBytes) throw new FileError(fileMessages.headerTooLarge)
    if (scan.state === 'ended') return { bytes, end: offset + scan.at }
    if (scan.at === longestLine) throw new FileError(fileMessages.headerTooLarge)
  }
  return endOfFile(data, scan, offset)
}

/** Returns the header of a file that ends with it. CRs may end its line. Throws {@link FileError} otherwise. */
function endOfFile(data: Buffer, { state }: Scan, offset: number): { bytes: Buffer; end: number } {
  if (pastCrs(data, 0) === data.length) throw new FileError(fileMessages.empty)
  if (state === 'quoted') throw new FileError(fileMessages.headerQuote)
  if (data.at(-1) !== cr) throw new FileError(fileMessages.noLineBreak)
  return { bytes: data, end: offset + data.length }
}

/** Whether the start of a header has a CR outside quotes that ends no line. */
function hasLoneCr(start: Buffer): boolean {
  const scan = startScan(0)
  for (let at = start.indexOf(cr); at !== -1; at = start.indexOf(cr, at)) {
    scanRecord(start, scan, at)
    if (scan.state === 'broken') return false
    const next = scan.state === 'quoted' ? at : pastCrs(start, at)
    if (next > at && next < start.length && start[next] !== lf) return true
    at = Math.max(next, at + 1)
  }
  return false
}

/** Returns how many leading bytes do not belong to the header: a BOM at the start of the file, and blank lines. */
function ignoredPrefix(data: Buffer, offset: number): number {
  const hasMark = offset === 0 && data.subarray(0, byteOrderMark.length).equals(byteOrderMark)
  let end = hasMark ? byteOrderMark.length : 0
  for (;;) {
    const past = pastCrs(data, end)
    if (data[past] !== lf || past - end >= longestLine) return end
    end = past + 1
  }
}

/** Returns the first problem of the names, with the documented message; undefined if there is none. */
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
