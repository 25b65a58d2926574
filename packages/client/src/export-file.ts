import type { ExportAnswer, ExportView } from '@sluice/contract/answers'
import type { Connection } from './connection.ts'
import { pollUntilEnd } from './ends.ts'
import { ExportFailedError } from './errors.ts'

/** What an export is doing. While a worker writes the file, its final size is unknown. */
export type ExportProgress =
  | { phase: 'processing'; view: ExportView }
  | { phase: 'download'; bytes: number; totalBytes: number }

/** Options of an export. All are optional. */
export interface ExportOptions {
  /** Profile keys in the order of the columns. Default: all keys of the app. */
  keys?: readonly string[] | undefined
  /** Within 24 hours, all calls with the same key begin only one export. Default: a new key. */
  idempotencyKey?: string | undefined
  onProgress?: ((progress: ExportProgress) => void) | undefined
  signal?: AbortSignal | undefined
}

/** A completed export. */
export interface ExportedFile {
  view: ExportView
  /** The file: CSV, compressed with gzip. */
  stream: ReadableStream<Uint8Array>
}

/**
 * Requests an export, waits for its end, and opens the file. Throws {@link ExportFailedError} if the export has no
 * file.
 */
export async function exportFile(connection: Connection, options: ExportOptions): Promise<ExportedFile> {
  const { keys, onProgress, signal, idempotencyKey = crypto.randomUUID() } = options
  const call = { method: 'POST', path: '/v1/exports', body: { keys }, idempotencyKey, signal } as const
  const { export_id: exportId } = (await connection.send<ExportAnswer>(call)).body
  const onView = (view: ExportView) => onProgress?.({ phase: 'processing', view })
  const view = await pollUntilEnd<ExportView>(connection, `/v1/exports/${exportId}`, { onView, signal })
  if (view.file_url === null) throw new ExportFailedError(view)
  const stream = await connection.download(view.file_url, signal)
  let bytes = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length
      onProgress?.({ phase: 'download', bytes, totalBytes: view.bytes })
      controller.enqueue(chunk)
    },
  })
  return { view, stream: stream.pipeThrough(counter) }
}
