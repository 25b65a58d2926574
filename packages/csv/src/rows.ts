import { type RecordBlock, RecordFramer } from './records.ts'
import { isText, type RowBlock } from './row-block.ts'

export interface RowsOptions {
  /** Absolute offset of the source's first byte: the end of the header, or the end of a row. Default 0. */
  position?: number
  /** Number of columns of the file. Everything after a row's last column becomes one cell. Default: no limit. */
  columns?: number
}

/**
 * Reads data rows (design.md §3, CSV dialect). Accepts uncompressed bytes without the header.
 *
 * Returns the rows in file order in blocks, about one block for each chunk of the source. No block is empty. A
 * malformed line is a row with a problem, not an error. Only the first 1,024 bytes of a record over 1 MiB are kept.
 *
 * Errors of the source pass through. If the caller stops early, the source is ended.
 *
 * @example
 * ```ts
 * const data = Readable.from([Buffer.from('alice,34\n"bob ""b""",35\n')])
 * const [block] = await Array.fromAsync(readRows(data, { position: 12, columns: 2 }))
 * Array.from(block.rowEnd) // → [21, 36]
 * cellsOf(block, 1).map(String) // → ["bob \"b\"", "35"]
 * ```
 */
export async function* readRows(
  source: AsyncIterable<Buffer>,
  { position = 0, columns = Number.POSITIVE_INFINITY }: RowsOptions = {},
): AsyncGenerator<RowBlock, void, void> {
  const framer = new RecordFramer(position)
  for await (const chunk of source) {
    for (const block of framer.push(chunk)) if (block.recordEnds.length > 0) yield toRows(block, columns)
  }
  for (const block of framer.end()) if (block.recordEnds.length > 0) yield toRows(block, columns)
}

function toRows({ start, bytes, recordEnds, problems }: RecordBlock, columns: number): RowBlock {
  return {
    bytes,
    start,
    rowEnd: recordEnds,
    columns,
    count: recordEnds.length,
    isText: isText(bytes),
    ...(problems !== undefined && { problems }),
  }
}
