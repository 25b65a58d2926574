import { KeptRows } from '../../../packages/imports/src/batch/kept-rows.ts'
import { unregistered } from '../../../packages/imports/src/batch/problems.ts'

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
 * Returns a row of `import_error_chunks` that holds one row of an unregistered user, and its line in the error file.
 */
export function errorChunkOf(
  { appId, importId, position, columns, startsAt = 0 }: ChunkPlace,
  values: readonly string[],
) {
  const text = values.join(',')
  const cellEnd = values.map((_, index) => values.slice(0, index + 1).join(',').length)
  const kept = new KeptRows(columns)
  const cells = {
    bytes: Buffer.from(text),
    firstCell: Uint32Array.of(0, values.length),
    cellStart: Uint32Array.from(cellEnd, (end, index) => end - (values[index]?.length ?? 0)),
    cellEnd: Uint32Array.from(cellEnd),
    columns: values.length,
  }
  kept.add(1, [unregistered(columns.indexOf('user_id'))], cells, 0)
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

/** Returns a row of `import_error_chunks` of 2 MiB, so that its import keeps more than others. No test reads it. */
export function largeChunkOf(appId: number, importId: string) {
  const content = Buffer.alloc(2 ** 21)
  return { app_id: appId, import_id: importId, position: 1, content, starts_at: 0, bytes: 0 }
}
