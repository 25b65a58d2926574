import { RowSplitter } from '@sluice/csv'
import { KeptRows } from '../../../packages/engine/batches/src/errors/kept-rows.ts'
import { unregistered } from '../../../packages/engine/batches/src/errors/problems.ts'

/** The place of an error chunk, and the columns of the uploaded file. */
interface ChunkPlace {
  appId: number
  importId: string
  /** The import's position after the batch to which the chunk belongs. */
  position: number
  columns: readonly string[]
  /** The offset of the chunk's lines in the error file, bytes. */
  startsAt?: number
}

/**
 * Returns a row of `import_chunks` that holds one row of an unregistered user, and its line in the error file.
 */
export function errorChunkOf(
  { appId, importId, position, columns, startsAt = 0 }: ChunkPlace,
  values: readonly string[],
) {
  const text = values.join(',')
  const rows = { bytes: Buffer.from(text), start: 0, rowEnd: Float64Array.of(text.length), columns: values.length }
  const kept = new KeptRows(columns)
  kept.add(1, [unregistered(columns.indexOf('user_id'))], new RowSplitter().split(rows, 0))
  return {
    line: `user_id is unregistered user,${text}\n`,
    chunk: {
      app_id: appId,
      import_id: importId,
      position,
      content: Buffer.from(kept.content()),
      starts_at: startsAt,
      bytes: kept.lineBytes,
    },
  }
}

/** Returns a row of `import_chunks` of 2 MiB, so that its import keeps more than others. No test reads it. */
export function largeChunkOf(appId: number, importId: string) {
  const content = Buffer.alloc(2 ** 21)
  return { app_id: appId, import_id: importId, position: 1, content, starts_at: 0, bytes: 0 }
}
