import { COMMA, CR, LF, QUOTE, SERVICE_ERRORS } from './dialect.ts'

/**
 * The header of an error file (service.md, Error CSV file): SERVICE_ERRORS and the uploaded columns, without one of that
 * name. Takes the uploaded columns, gives the line in UTF-8.
 */
export function errorFileHeader(columns: readonly string[]): Buffer {
  const known = columns.filter((name) => name !== SERVICE_ERRORS)
  return line([SERVICE_ERRORS, ...known].map((name) => Buffer.from(name)))
}

/**
 * A row of an error file. Takes all messages of the row, its cells and the uploaded columns. Gives the line.
 *
 * Values are the original bytes, so that the file can be corrected and uploaded again: also where they are not UTF-8, and
 * where a spreadsheet would take them for a formula. Values that the row lacks are empty; values beyond the columns follow
 * the others.
 */
export function errorFileRow(
  messages: readonly string[],
  cells: readonly Buffer[],
  columns: readonly string[],
): Buffer {
  const length = Math.max(cells.length, columns.length)
  const values: Buffer[] = [Buffer.from(messages.join(', '))]
  for (let index = 0; index < length; index++) {
    if (columns[index] !== SERVICE_ERRORS) values.push(cells[index] ?? EMPTY)
  }
  return line(values)
}

const EMPTY = Buffer.alloc(0)
const COMMA_BYTES = Buffer.from([COMMA])
const QUOTE_BYTES = Buffer.from([QUOTE])
const LF_BYTES = Buffer.from([LF])

function line(values: readonly Buffer[]): Buffer {
  const parts = values.flatMap((value, index) => (index === 0 ? [quoted(value)] : [COMMA_BYTES, quoted(value)]))
  return Buffer.concat([...parts, LF_BYTES])
}

/** The value as it stands in the file: within quotes only where a reader would misread it otherwise. */
function quoted(value: Buffer): Buffer {
  if (!value.some((byte) => byte === COMMA || byte === QUOTE || byte === CR || byte === LF)) return value
  const parts: Buffer[] = [QUOTE_BYTES]
  let start = 0
  for (let quote = value.indexOf(QUOTE); quote !== -1; quote = value.indexOf(QUOTE, start)) {
    parts.push(value.subarray(start, quote + 1), QUOTE_BYTES)
    start = quote + 1
  }
  return Buffer.concat([...parts, value.subarray(start), QUOTE_BYTES])
}
