import { type Dialect, RecordReader } from './conversion/record-reader.ts'

/** The header and the first rows of a CSV file. */
export interface Preview {
  header: string[]
  rows: string[][]
}

/** A preview, and how many rows the text has. */
export interface CountedPreview extends Preview {
  rowCount: number
}

const comma: Dialect = { separator: ',', lineBreak: '\n' }

/**
 * Reads the beginning of a CSV file for a preview, in the same way as the import. Skips blank lines, a byte order mark,
 * and rows whose quotes are broken.
 *
 * If `isWhole` is false, the last row may be incomplete and is omitted. Returns at most `maxRows` rows, and counts all
 * of them. Returns undefined if there is no header.
 */
export function readPreview(
  text: string,
  isWhole: boolean,
  maxRows: number,
  dialect: Dialect = comma,
): CountedPreview | undefined {
  const reader = new RecordReader(dialect)
  const records: string[][] = []
  let count = 0
  const read = function* () {
    yield* reader.push(text.replace(/^\uFEFF/, ''))
    if (isWhole) yield* reader.end()
  }
  for (const { cells, problem } of read()) {
    if (problem !== undefined && count === 0) return undefined
    if (problem === undefined && records.length <= maxRows) records.push(cells)
    count++
  }
  const [header, ...rows] = records
  return header === undefined ? undefined : { header, rows, rowCount: count - 1 }
}
