import { type Dialect, RecordReader } from './conversion/record-reader.ts'

/** The header and the first rows of a CSV file. */
export interface Preview {
  header: string[]
  rows: string[][]
}

const comma: Dialect = { separator: ',', lineBreak: '\n' }

/**
 * Reads the beginning of a CSV file for a preview, in the same way as the import. Skips blank lines, a byte order mark,
 * and rows whose quotes are broken.
 *
 * If `isWhole` is false, the last row may be incomplete and is omitted. Returns at most `maxRows` rows, or undefined
 * if there is no header.
 */
export function readPreview(
  text: string,
  isWhole: boolean,
  maxRows: number,
  dialect: Dialect = comma,
): Preview | undefined {
  const reader = new RecordReader(dialect)
  const records: string[][] = []
  const read = function* () {
    yield* reader.push(text.replace(/^\uFEFF/, ''))
    if (isWhole) yield* reader.end()
  }
  for (const { cells, problem } of read()) {
    if (problem === undefined) records.push(cells)
    else if (records.length === 0) return undefined
    if (records.length > maxRows) break
  }
  const [header, ...rows] = records
  return header === undefined ? undefined : { header, rows }
}
