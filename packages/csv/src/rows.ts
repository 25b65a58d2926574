import { splitRecords } from './cells.ts'
import { type RecordBlock, RecordFramer } from './records.ts'
import { isText, type RowBlock } from './row-block.ts'

/** Where reading begins, and how wide rows are. */
export interface RowsOptions {
  /** Absolute offset at which the source begins: the header's end, or the end of a row. Default 0. */
  position?: number
  /** Columns of the file: cells after them are not looked for. Default: no limit. */
  columns?: number
}

/**
 * Reads data rows (design.md §3, CSV dialect). A malformed line is a row with a problem, not an error; of a record over
 * 1 MiB only the first 1,024 bytes are kept.
 *
 * Takes uncompressed bytes without the header. Gives the rows in file order in blocks, about one for each chunk of the
 * source, none of them empty. Errors of the source pass through; the source is ended when the caller stops early.
 */
export async function* readRows(
  source: AsyncIterable<Buffer>,
  { position = 0, columns }: RowsOptions = {},
): AsyncGenerator<RowBlock, void, void> {
  const framer = new RecordFramer(position)
  for await (const chunk of source) {
    for (const block of framer.push(chunk)) if (block.recordEnds.length > 0) yield toRows(block, columns)
  }
  for (const block of framer.end()) if (block.recordEnds.length > 0) yield toRows(block, columns)
}

function toRows(block: RecordBlock, columns: number | undefined): RowBlock {
  const { start, bytes, recordEnds } = block
  return {
    ...splitRecords({ ...block, ...(columns !== undefined && { columns }) }),
    count: recordEnds.length,
    raw: bytes,
    start,
    rowEnd: recordEnds,
    isText: isText(bytes),
  }
}
