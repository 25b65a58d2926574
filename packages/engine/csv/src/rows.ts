import { isUtf8 } from 'node:buffer'
import { type ByteCells, ByteSplitter, type Records } from './cells.ts'
import { type RecordBlock, RecordFramer } from './records.ts'

/** The cells of one row of an import, whose bytes are always a `Buffer`. */
export type Cells = ByteCells<Buffer>

/**
 * Splits rows of an import into cells, as {@link ByteSplitter} does.
 *
 * @example
 * ```ts
 * const [block] = await Array.fromAsync(readRows(Readable.from([Buffer.from('alice,34,x,y\n')]), { columns: 2 }))
 * new RowSplitter().split(block, 0).count // → 3
 * ```
 */
export class RowSplitter extends ByteSplitter<Buffer> {}

/** Data rows that follow each other in the file. `RowSplitter` splits them into cells. */
export interface RowBlock extends Records<Buffer> {
  readonly count: number
  /**
   * All bytes are UTF-8 without NUL. The same is then true of each cell, because cells begin and end at ASCII
   * characters.
   */
  readonly isText: boolean
}

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
    for (const block of framer.push(chunk)) if (block.rowEnd.length > 0) yield toRows(block, columns)
  }
  for (const block of framer.end()) if (block.rowEnd.length > 0) yield toRows(block, columns)
}

/** Accepts a block of a source of Buffers. */
function toRows({ end, ...block }: RecordBlock, columns: number): RowBlock {
  const bytes = block.bytes as Buffer
  return { ...block, bytes, columns, count: block.rowEnd.length, isText: isText(bytes) }
}

/**
 * Whether bytes are UTF-8 without NUL, and so can be stored as text (design.md §3, Strings).
 *
 * @example
 * ```ts
 * isText(Buffer.from('café')) // → true
 * isText(Buffer.from([0x63, 0x61, 0x66, 0xe9])) // → false
 * isText(Buffer.from('a\0')) // → false
 * ```
 */
export function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}
