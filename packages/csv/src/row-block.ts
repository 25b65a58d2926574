import { isUtf8 } from 'node:buffer'

/**
 * Where the cells of rows lie in their bytes: a cell is looked at in its place, and no object is made for it. That is what
 * an import's speed hangs on.
 *
 * Cell `i` of row `r` has the number `firstCell[r] + i`; its value, without the quotes around it, is what `bytes` holds
 * from `cellStart` to `cellEnd` of that number, exclusive. A row has as many cells as it has values, not as the header.
 */
export interface CellOffsets {
  readonly bytes: Buffer
  readonly firstCell: Uint32Array
  readonly cellStart: Uint32Array
  readonly cellEnd: Uint32Array
  /** Columns of the file. What a row has after its last column is one cell, as it stands in the file: nobody looks into it. */
  readonly columns: number
  /** By row, why it cannot be read (`problemOf`); left out if all can. Such a row is split at every comma, and quotes are data. */
  readonly problems?: Uint8Array
}

/** Data rows that lie next to each other in the file. */
export interface RowBlock extends CellOffsets {
  /** Rows in it. */
  readonly count: number
  /** The rows as they stand in the file, and the absolute offset of their first byte. */
  readonly raw: Buffer
  readonly start: number
  /** Absolute offset just behind each row and its line break, bytes of the uncompressed stream: where to resume. */
  readonly rowEnd: Float64Array
  /** All bytes are UTF-8 without NUL, and so are those of every cell: a cell ends before or after an ASCII character. */
  readonly isText: boolean
}

/** How many cells a row has; all those after the last column count as one. */
export function cellCount({ firstCell }: CellOffsets, row: number): number {
  return (firstCell[row + 1] ?? 0) - (firstCell[row] ?? 0)
}

/** A row as it stands in the file, with its line break, and with the blank lines before it. */
export function rawRow({ raw, start, rowEnd }: RowBlock, row: number): Buffer {
  return raw.subarray(row === 0 ? 0 : (rowEnd[row - 1] ?? 0) - start, (rowEnd[row] ?? 0) - start)
}

/** The original bytes of each value of a row. */
export function cellsOf(block: CellOffsets, row: number): Buffer[] {
  const first = block.firstCell[row] ?? 0
  return Array.from({ length: cellCount(block, row) }, (_, index) =>
    block.bytes.subarray(block.cellStart[first + index], block.cellEnd[first + index]),
  )
}

/** Whether bytes are UTF-8 without NUL: what can be stored as text (design.md §3, Strings). */
export function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}
