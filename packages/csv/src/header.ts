import { recordLength, splitRecords } from './cells.ts'
import { BOM, CR, LF, USER_ID } from './dialect.ts'
import { FileError } from './file-error.ts'
import { cellsOf, isText } from './row-block.ts'
import { scanRecord, startScan } from './scan.ts'

/** Largest header, bytes without BOM and line break (service.md, Limits). */
const MAX_HEADER_BYTES = 102_400

/** Longest column name, Unicode code points (service.md, Limits). */
const MAX_NAME_LENGTH = 255

/** Keys that begin so are standard user profiles (design.md §3, Standard profiles). */
const STANDARD_PREFIX = '$'

export interface Header {
  /** The names in file order, `user_id` among them, and SERVICE_ERRORS where it was uploaded. */
  columns: string[]
  /** Absolute offset of the first data row, bytes of the uncompressed stream. */
  end: number
}

/**
 * Reads the header of a file (service.md, Bulk import CSV file). A BOM and blank lines before it are dropped; white space
 * in names is kept.
 *
 * Takes uncompressed bytes from the start of the file; ends the source after the chunk that completes the header. Throws
 * {@link FileError} for the first of these that is wrong: empty file, quoting or size, missing line break, empty names,
 * names that are not UTF-8, duplicates, no `user_id`, names too long, standard profiles. Its message lists the names that
 * are wrong in the same way, ten at most.
 */
export async function readHeader(source: AsyncIterable<Buffer>): Promise<Header> {
  const { bytes, end } = await readHeaderRecord(source)
  const cells = cellsOf(splitRecords({ bytes, recordEnds: [bytes.length] }), 0)
  const columns = cells.map((cell) => cell.toString('utf8'))
  const problem = headerProblem(bytes, cells, columns)
  if (problem !== undefined) throw problem
  return { columns, end }
}

/** The bytes of the header with its line break, and the absolute offset behind it. */
async function readHeaderRecord(source: AsyncIterable<Buffer>): Promise<{ bytes: Buffer; end: number }> {
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
    // Room for CRLF behind a header of full size.
    scanRecord(data, scan, Math.min(data.length, MAX_HEADER_BYTES + 2))
    if (scan.state === 'broken') throw new FileError(UNCLOSED_QUOTE)
    const bytes = data.subarray(0, scan.at)
    if (recordLength(bytes) > MAX_HEADER_BYTES) throw new FileError(`header size over ${MAX_HEADER_BYTES} bytes`)
    if (scan.state === 'ended') return { bytes, end: offset + scan.at }
  }
  if (data.length === 0) throw new FileError('empty file')
  throw new FileError(
    scan.state === 'quoted' || scan.state === 'closed CR' ? UNCLOSED_QUOTE : 'newline character not found',
  )
}

const UNCLOSED_QUOTE = 'header has an unclosed quote'

/** How many bytes at the start of the data are no header: a BOM at the start of the file, and blank lines. */
function ignoredPrefix(data: Buffer, offset: number): number {
  let end = offset === 0 && data.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0
  for (;;) {
    if (data[end] === LF) end += 1
    else if (data[end] === CR && data[end + 1] === LF) end += 2
    else return end
  }
}

/** What is wrong with the names, in the words of the documented message. */
function headerProblem(bytes: Buffer, cells: readonly Buffer[], columns: readonly string[]): FileError | undefined {
  if (columns.includes('')) return new FileError('empty columns')

  const notUtf8 = isText(bytes) ? [] : [...cells.keys()].filter((index) => !isText(cells[index] ?? bytes))
  if (notUtf8.length > 0) return new FileError(`${list(notUtf8, position)} should be UTF-8`)

  const errorAbout = (wrong: readonly string[], messageOf: (names: string) => string) => {
    const forLog = messageOf(`[${wrong.length} names]`)
    return new FileError(messageOf(list(wrong, (name) => shown(name, columns))), { forLog })
  }

  const repeated = duplicates(columns)
  if (repeated.length > 0) return errorAbout(repeated, (names) => `duplicate columns ${names}`)

  if (!columns.includes(USER_ID)) return new FileError('user_id column is required')

  const long = columns.filter((name) => name.length > MAX_NAME_LENGTH && [...name].length > MAX_NAME_LENGTH)
  if (long.length > 0) return errorAbout(long, (names) => `${names} should be at most ${MAX_NAME_LENGTH} characters`)

  const standard = columns.filter((name) => name.startsWith(STANDARD_PREFIX))
  if (standard.length === 0) return undefined
  return errorAbout(standard, (names) => `standard user profile cannot be updated: ${names}`)
}

/** The names that occur more than once, each once, in order of first appearance. */
function duplicates(columns: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const name of columns) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].filter(([, count]) => count > 1).map(([name]) => name)
}

/** Lists names in a message, ten at most: a message goes into the subject of a mail and the answer of v2. */
function list<Column>(wrong: readonly Column[], nameOf: (column: Column) => string): string {
  const more = wrong.length - MAX_LISTED_NAMES
  const listed = wrong.slice(0, MAX_LISTED_NAMES).map(nameOf)
  return `${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

const MAX_LISTED_NAMES = 10

/** A name in a message, cut where it is very long. A terminal or mail program could take control characters for commands. */
function shown(name: string, columns: readonly string[]): string {
  if (/[^\P{Cc}\t\n\r]/u.test(name)) return position(columns.indexOf(name))
  const start = Array.from(name.slice(0, 2 * MAX_SHOWN_LENGTH))
    .slice(0, MAX_SHOWN_LENGTH)
    .join('')
  return start.length < name.length ? `${start}…` : name
}

const MAX_SHOWN_LENGTH = 1_000

/** How a message names a column whose name cannot be shown. */
function position(index: number): string {
  return `column ${index + 1}`
}
