import type { Row } from '@sluice/csv'

/** A batch is cut early where its rows hold more than this, bytes: wide rows must not make transactions long. */
const batchBytes = 8 * 2 ** 20

/** Nor must its memory grow with empty cells, which take no bytes in the file but one object each here. */
const batchCells = 100_000

/**
 * Cuts rows into batches of `batchRows`, or fewer where they are long.
 *
 * Where a batch ends depends only on the rows and on where the first one begins, never on how the bytes arrived: a
 * successor that goes on from a committed position makes the same batches.
 */
export async function* cutBatches(
  blocks: AsyncIterable<Row[]>,
  position: number,
  batchRows: number,
): AsyncGenerator<Row[]> {
  let batch: Row[] = []
  let start = position
  let cells = 0
  for await (const rows of blocks) {
    for (const row of rows) {
      batch.push(row)
      cells += row.cells.length
      if (batch.length < batchRows && row.end - start < batchBytes && cells < batchCells) continue
      yield batch
      batch = []
      start = row.end
      cells = 0
    }
  }
  if (batch.length > 0) yield batch
}
