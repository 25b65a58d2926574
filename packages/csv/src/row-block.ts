import { isUtf8 } from 'node:buffer'

/** Records that follow each other in a file. There may be blank lines between them. */
export interface Records {
  /** The records as uploaded; only the first 1,024 bytes of a record that is too long. */
  readonly bytes: Buffer
  /** Absolute offset of the first of `bytes` in the uncompressed stream. */
  readonly start: number
  /** Absolute offset after each record and its line break in the uncompressed stream. Reading can resume there. */
  readonly rowEnd: Float64Array
  /** Columns of the file. Whatever follows the last column of a record is one cell with the unparsed bytes. */
  readonly columns: number
  /** Why each record cannot be read, for `problemOf`; absent if all records can be read. */
  readonly problems?: Uint8Array
}

/** Data rows that follow each other in the file. `RowSplitter` splits them into cells. */
export interface RowBlock extends Records {
  /** Number of rows. */
  readonly count: number
  /**
   * All bytes are UTF-8 without NUL. The same is then true of each cell, because cells begin and end at ASCII
   * characters.
   */
  readonly isText: boolean
}

/**
 * Returns the offset in `bytes` at which a row begins, with the preceding blank lines; for the number of rows, where
 * the last one ends. The offset is beyond the end of `bytes` after a row that is too long.
 *
 * @example
 * ```ts
 * const [block] = await Array.fromAsync(readRows(Readable.from([Buffer.from('alice,34\n"bob",35\n')])))
 * rowOffset(block, 1) // → 9
 * ```
 */
export function rowOffset({ start, rowEnd }: Records, row: number): number {
  return row === 0 ? 0 : (rowEnd[row - 1] ?? 0) - start
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
