import { isUtf8 } from 'node:buffer'

/**
 * The cells of rows, as offsets into the bytes of the rows. No object is created for a cell: an import's speed depends
 * on that.
 *
 * Cell `i` of row `r` has the number `firstCell[r] + i`. Its value, without enclosing quotes, is `bytes` from
 * `cellStart` to `cellEnd` of that number (exclusive). A row has as many cells as it has values, however many columns
 * the header has.
 */
export interface CellOffsets {
  readonly bytes: Buffer
  readonly firstCell: Uint32Array
  readonly cellStart: Uint32Array
  readonly cellEnd: Uint32Array
  /** Columns of the file. Whatever follows the last column of a row is one cell with the unparsed bytes of the file. */
  readonly columns: number
  /**
   * Why each row cannot be read, for `problemOf`; absent if all rows can be read. A row with a problem is split at
   * every comma, and its quotes are data.
   */
  readonly problems?: Uint8Array
}

/** Data rows that follow each other in the file. */
export interface RowBlock extends CellOffsets {
  /** Number of rows. */
  readonly count: number
  /** The rows as uploaded. */
  readonly raw: Buffer
  /** Absolute offset of the first byte of `raw` in the uncompressed stream. */
  readonly start: number
  /** Absolute offset after each row and its line break in the uncompressed stream. Reading can resume there. */
  readonly rowEnd: Float64Array
  /**
   * All bytes are UTF-8 without NUL. The same is then true of each cell, because cells begin and end at ASCII
   * characters.
   */
  readonly isText: boolean
}

/**
 * Returns the number of a row's cells. Everything that follows the last column counts as one cell.
 *
 * @example
 * ```ts
 * const [block] = await Array.fromAsync(readRows(Readable.from([Buffer.from('alice,34,x,y\n')]), { columns: 2 }))
 * cellCount(block, 0) // → 3
 * ```
 */
export function cellCount({ firstCell }: CellOffsets, row: number): number {
  return (firstCell[row + 1] ?? 0) - (firstCell[row] ?? 0)
}

/**
 * Returns the offset in `raw` at which a row begins, with the preceding blank lines; for the number of rows, where the
 * last one ends. The offset is beyond the end of `raw` after a row that is too long.
 *
 * @example
 * ```ts
 * const [block] = await Array.fromAsync(readRows(Readable.from([Buffer.from('alice,34\n"bob",35\n')])))
 * rawRowOffset(block, 1) // → 9
 * ```
 */
export function rawRowOffset({ start, rowEnd }: RowBlock, row: number): number {
  return row === 0 ? 0 : (rowEnd[row - 1] ?? 0) - start
}

/**
 * Returns the original bytes of each value of a row.
 *
 * @example
 * ```ts
 * const [block] = await Array.fromAsync(readRows(Readable.from([Buffer.from('alice,,"a, b"\n')])))
 * cellsOf(block, 0).map(String) // → ["alice", "", "a, b"]
 * ```
 */
export function cellsOf(block: CellOffsets, row: number): Buffer[] {
  const first = block.firstCell[row] ?? 0
  return Array.from({ length: cellCount(block, row) }, (_, index) =>
    block.bytes.subarray(block.cellStart[first + index], block.cellEnd[first + index]),
  )
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
