import { parse } from 'csv-parse/sync'
import { COMMA, CR, LF } from './dialect.ts'

/**
 * Takes well-formed records apart, and skips blank lines between them.
 *
 * Gives the value of each cell of each record as its original bytes, without the quotes around it.
 */
export function splitRecords(bytes: Buffer): Buffer[][] {
  const records = parse(bytes, {
    encoding: null,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
  })
  // With `encoding: null` cells are Buffers, which the library's types leave out.
  return (records as unknown as Buffer[][]).map(shareEmptyCells)
}

const EMPTY = Buffer.alloc(0)

/** Most cells of a wide export are empty: one object stands for all of them. */
function shareEmptyCells(cells: Buffer[]): Buffer[] {
  for (const [index, cell] of cells.entries()) if (cell.length === 0) cells[index] = EMPTY
  return cells
}

/** Takes a line that is not well-formed apart at every comma; quotes are data. A line break at its end is left out. */
export function splitAtCommas(line: Buffer): Buffer[] {
  const cells: Buffer[] = []
  const end = recordLength(line)
  let start = 0
  for (let comma = line.indexOf(COMMA); comma !== -1; comma = line.indexOf(COMMA, start)) {
    cells.push(line.subarray(start, comma))
    start = comma + 1
  }
  cells.push(line.subarray(start, end))
  return cells
}

/** How many bytes of a record, or of a line, come before the LF or CRLF at its end, if any. */
export function recordLength(line: Buffer): number {
  if (line.at(-1) !== LF) return line.length
  return line.at(-2) === CR ? line.length - 2 : line.length - 1
}
