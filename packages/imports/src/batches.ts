import type { Row } from '@sluice/csv'

/** A batch is cut early where its rows hold more than this, bytes: wide rows must not make transactions long. */
const batchBytes = 8 * 2 ** 20

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
  for await (const rows of blocks) {
    for (const row of rows) {
      batch.push(row)
      if (batch.length < batchRows && row.end - start < batchBytes) continue
      yield batch
      batch = []
      start = row.end
    }
  }
  if (batch.length > 0) yield batch
}
