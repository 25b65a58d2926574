import { splitAtCommas, splitRecords } from './cells.ts'
import { type RecordBlock, RecordFramer, type RecordProblem } from './records.ts'

/** A data row. */
export interface Row {
  /** The original bytes of each value, without the quotes around it; as many as the row has, not the header. */
  cells: Buffer[]
  /** Absolute offset just behind the row and its line break, bytes of the uncompressed stream: where to resume. */
  end: number
  /** Set where the row can't be read. Then `cells` are split at every comma and quotes are data. */
  problem?: RecordProblem
}

/** Where reading begins. */
export interface RowsOptions {
  /** Absolute offset at which the source begins: the header's end, or the end of a row. Default 0. */
  position?: number
}

/**
 * Reads data rows (design.md §3, CSV dialect). A malformed line is a row with a problem, not an error; of a record over
 * 1 MiB only the first 1,024 bytes are kept.
 *
 * Takes uncompressed bytes without the header. Gives the rows in file order in blocks, about one for each chunk of the
 * source. Errors of the source pass through; the source is ended when the caller stops early.
 */
export async function* readRows(
  source: AsyncIterable<Buffer>,
  { position = 0 }: RowsOptions = {},
): AsyncGenerator<Row[], void, void> {
  const framer = new RecordFramer(position)
  for await (const chunk of source) {
    const rows = framer.push(chunk).flatMap(toRows)
    if (rows.length > 0) yield rows
  }
  const rows = framer.end().flatMap(toRows)
  if (rows.length > 0) yield rows
}

function toRows({ bytes, end, recordEnds, problem }: RecordBlock): Row[] {
  if (problem !== undefined) return [{ cells: splitAtCommas(bytes), end, problem }]
  if (recordEnds.length === 0) return []
  const records = splitRecords(bytes)
  if (records.length !== recordEnds.length) {
    throw new Error(`${recordEnds.length} records ending at byte ${end} were split into ${records.length} rows`)
  }
  return records.map((cells, index) => ({ cells, end: recordEnds[index] ?? end }))
}
