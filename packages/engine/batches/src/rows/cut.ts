import { type Cells, type RowBlock, RowSplitter } from '@sluice/csv'

/**
 * A batch ends after so many rows, and early if its rows hold more bytes than this. Profile updates of its users wait
 * while the batch writes, and that time depends on bytes rather than on rows.
 */
const [batchRows, batchBytes] = [2_500, 256 * 2 ** 10]

/**
 * Maximum number of bytes of keys in the documents of a batch. The document of each row repeats the keys of the
 * row's values. The last row of a batch may exceed the limit.
 */
const batchKeyBytes = 4 * 2 ** 20

/** Rows of a block, from `from` up to `to`, exclusive. */
interface RowSlice {
  block: RowBlock
  from: number
  to: number
}

/** The rows of one transaction, in file order. */
export interface RowBatch {
  slices: RowSlice[]
  rows: number
  /** End of the preceding batch, and of the last row, as byte offsets in the uncompressed file. */
  start: number
  end: number
  /** Bytes of keys in the documents of the rows; 0 if they cannot exceed the limit. */
  keyBytes: number
  /** End of the batch that was cut, if these rows are only a part of it. Types settle by whole batches. */
  wholeEnd?: number
}

/** The limits of a batch that differ between files. */
export interface BatchLimits {
  /** Maximum number of rows of a transaction. */
  rows: number
  /** Number of rows of the first batch, if it is to be smaller than the others and so commit sooner. */
  firstRows?: number
  /** End of the first batch, if an earlier try has committed a part of it. */
  firstEnd?: number
  /** By column, the number of bytes that its key takes in a row's document. */
  keyBytes: readonly number[]
}

/**
 * Cuts rows into batches (design.md §4, Bounded memory). Batches have fewer rows if rows are long or have long keys.
 *
 * The end of a batch depends only on the header, the rows and the position of the first batch, never on how the bytes
 * arrived. A worker that continues from a committed position therefore cuts the same batches.
 */
export async function* cutBatches(
  blocks: AsyncIterable<RowBlock>,
  position: number,
  limits: BatchLimits,
): AsyncGenerator<RowBatch> {
  const most = Math.min(Math.max(1, limits.rows), batchRows)
  // Counting the keys of each row takes time, and only few files have keys that could exceed the limit.
  const countsKeys = limits.rows * limits.keyBytes.reduce((sum, bytes) => sum + bytes, 0) > batchKeyBytes
  const splitter = new RowSplitter()
  let mostOfThis = Math.min(limits.firstRows ?? most, most)
  let batch = emptyBatch(position)
  const firstEnd = limits.firstEnd ?? position
  for await (const block of blocks) {
    let from = 0
    for (let row = 0; row < block.count; row++) {
      batch.rows++
      batch.end = block.rowEnd[row] ?? batch.end
      if (countsKeys) batch.keyBytes += keyBytesOf(splitter.split(block, row), limits.keyBytes)
      if (batch.end < firstEnd) continue
      if (batch.end !== firstEnd && batch.rows < mostOfThis && hasRoom(batch, batchBytes)) continue
      batch.slices.push({ block, from, to: row + 1 })
      yield batch
      from = row + 1
      mostOfThis = most
      batch = emptyBatch(batch.end)
    }
    if (from < block.count) batch.slices.push({ block, from, to: block.count })
  }
  if (batch.rows > 0) yield batch
}

/** Returns a batch as its first rows and, if it has more, the others. */
export function splitBatch(batch: RowBatch, rows: number): [first: RowBatch, rest: RowBatch | undefined] {
  if (batch.rows <= rows) return [batch, undefined]
  const wholeEnd = batch.wholeEnd ?? batch.end
  const first = { ...emptyBatch(batch.start), wholeEnd }
  const rest = emptyBatch(batch.start)
  for (const { block, from, to } of batch.slices) {
    const split = Math.min(to, from + rows - first.rows)
    if (from < split) addSlice(first, { block, from, to: split })
    if (split < to) addSlice(rest, { block, from: split, to })
  }
  return [first, { ...rest, start: first.end }]
}

function addSlice(batch: RowBatch, slice: RowSlice): void {
  batch.slices.push(slice)
  batch.rows += slice.to - slice.from
  batch.end = slice.block.rowEnd[slice.to - 1] ?? batch.end
}

/** The rows and bytes that joined batches may have. */
export interface JoinedSize {
  rows: number
  bytes: number
}

/**
 * Joins batches that follow each other, up to a size. Larger transactions take less time per row. Passes the first
 * batch on at once.
 *
 * `mayJoin` is asked before other batches are joined to a batch. Where the joined batches end may thus depend on
 * anything. They begin and end where batches do, so a worker that continues after them cuts the same batches. If
 * reading fails, the batches before the failure are passed on first: which rows are applied must not depend on joining.
 */
export async function* joinBatches(
  batches: AsyncIterable<RowBatch>,
  most: () => JoinedSize,
  mayJoin: () => boolean | Promise<boolean>,
): AsyncGenerator<RowBatch> {
  let isFirst = true
  let open: RowBatch | undefined
  try {
    for await (const batch of batches) {
      const joined = open === undefined ? undefined : join(open, batch)
      const { rows, bytes } = most()
      if (joined !== undefined && joined.rows <= rows && hasRoom(joined, bytes)) {
        open = joined
        continue
      }
      if (open !== undefined) yield open
      open = undefined
      if (!isFirst && (await mayJoin())) open = batch
      else yield batch
      isFirst = false
    }
  } catch (error) {
    if (open !== undefined) yield open
    throw error
  }
  if (open !== undefined) yield open
}

function join(one: RowBatch, next: RowBatch): RowBatch {
  return {
    slices: [...one.slices, ...next.slices],
    rows: one.rows + next.rows,
    start: one.start,
    end: next.end,
    keyBytes: one.keyBytes + next.keyBytes,
  }
}

/** Whether the rows hold fewer bytes than this, and the keys of their documents fewer than the limit. */
function hasRoom({ start, end, keyBytes }: RowBatch, bytes: number): boolean {
  return end - start < bytes && keyBytes < batchKeyBytes
}

function emptyBatch(position: number): RowBatch {
  return { slices: [], rows: 0, start: position, end: position, keyBytes: 0 }
}

/** Returns the bytes of the keys in a row's document, which has no keys for empty cells. */
function keyBytesOf({ count, start, end }: Cells, keyBytes: readonly number[]): number {
  let sum = 0
  for (let index = 0; index < Math.min(count, keyBytes.length); index++) {
    if (start[index] !== end[index]) sum += keyBytes[index] ?? 0
  }
  return sum
}
