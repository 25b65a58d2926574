import type { RowBlock } from '@sluice/csv'

/**
 * A batch is cut early where its rows hold more than this, bytes: what it writes, and so how long profile updates of its users
 * wait for it, goes by the bytes rather than by the rows.
 */
const batchBytes = 256 * 2 ** 10

/** Its memory must not grow with empty cells, which take next to no bytes in the file. */
const batchCells = 125_000

/** Nor with its documents, in which every value stands with its key: at most so many bytes of keys, and a row's more. */
const batchKeyBytes = 4 * 2 ** 20

/** Rows of a block, from one up to another, exclusive. */
interface RowSlice {
  block: RowBlock
  from: number
  to: number
}

/** The rows of one transaction, in file order. */
export interface RowBatch {
  slices: RowSlice[]
  rows: number
  /** Absolute offset behind the last of them, bytes of the uncompressed file. */
  end: number
}

/** What bounds a batch beside the sizes that are the same for all. */
export interface BatchLimits {
  rows: number
  /** Rows of the first batch, where it is to be smaller: so it commits sooner. */
  firstRows?: number
  /** By place in a row, bytes that a value's key takes in the row's document. */
  keyBytes: readonly number[]
}

/**
 * Cuts rows into batches, smaller ones where rows are long or have many columns.
 *
 * Where a batch ends depends only on the header, the rows, and where the first one begins, never on how the bytes arrived: a
 * successor that goes on from a committed position makes the same batches.
 */
export async function* cutBatches(
  blocks: AsyncIterable<RowBlock>,
  position: number,
  limits: BatchLimits,
): AsyncGenerator<RowBatch> {
  const most = Math.max(1, limits.rows)
  // Few files have keys that could take so much: only then the values of each row are counted.
  const countsKeys = most * limits.keyBytes.reduce((sum, bytes) => sum + bytes, 0) > batchKeyBytes
  let batchRows = Math.min(limits.firstRows ?? most, most)
  let batch: RowBatch = { slices: [], rows: 0, end: position }
  let start = position
  let cells = 0
  let keyBytes = 0
  for await (const block of blocks) {
    let from = 0
    for (let row = 0; row < block.count; row++) {
      batch.rows++
      batch.end = block.rowEnd[row] ?? batch.end
      cells += (block.firstCell[row + 1] ?? 0) - (block.firstCell[row] ?? 0)
      if (countsKeys) keyBytes += keyBytesOf(block, row, limits.keyBytes)
      if (batch.rows < batchRows && batch.end - start < batchBytes && cells < batchCells && keyBytes < batchKeyBytes)
        continue
      batch.slices.push({ block, from, to: row + 1 })
      yield batch
      from = row + 1
      start = batch.end
      batchRows = most
      batch = { slices: [], rows: 0, end: start }
      cells = 0
      keyBytes = 0
    }
    if (from < block.count) batch.slices.push({ block, from, to: block.count })
  }
  if (batch.rows > 0) yield batch
}

/** Bytes of the keys in a row's document, which has no keys of empty cells. */
function keyBytesOf({ firstCell, cellStart, cellEnd }: RowBlock, row: number, keyBytes: readonly number[]): number {
  const first = firstCell[row] ?? 0
  const count = Math.min((firstCell[row + 1] ?? 0) - first, keyBytes.length)
  let sum = 0
  for (let index = 0; index < count; index++) {
    if (cellStart[first + index] !== cellEnd[first + index]) sum += keyBytes[index] ?? 0
  }
  return sum
}
