import type { ExportAnswer, ExportView } from '@sluice/contract/answers'
import { type Connection, causeOf } from './connection.ts'
import { pollUntilEnd } from './ends.ts'
import { ExportFailedError, NetworkError } from './errors.ts'
import { refuseUnknown } from './option-names.ts'
import { Retries } from './retries.ts'

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
  /** The file: CSV, compressed with gzip. A download that breaks off goes on. */
  stream: ReadableStream<Uint8Array>
}

/**
 * Requests an export, waits for its end, and opens the file. Throws {@link ExportFailedError} if the export has no
 * file, and a `TypeError` for an option that does not exist.
 */
export async function exportFile(connection: Connection, options: ExportOptions): Promise<ExportedFile> {
  refuseUnknown(options, { keys: true, idempotencyKey: true, onProgress: true, signal: true })
  const { keys, onProgress, signal, idempotencyKey = crypto.randomUUID() } = options
  const call = { method: 'POST', path: '/v1/exports', body: { keys }, idempotencyKey, signal } as const
  const { export_id: exportId } = (await connection.send<ExportAnswer>(call)).body
  const onView = (view: ExportView) => onProgress?.({ phase: 'processing', view })
  const view = await pollUntilEnd<ExportView>(connection, `/v1/exports/${exportId}`, { onView, signal })
  if (view.file_url === null) throw new ExportFailedError(view)
  return { view, stream: await downloadOf(connection, { ...view, file_url: view.file_url }, options) }
}

/**
 * Opens the file of an export. If the download breaks off, the stream opens the file again at this place, as long as
 * the patience for outages allows.
 */
async function downloadOf(
  connection: Connection,
  { file_url: url, bytes: totalBytes }: ExportView & { file_url: string },
  { onProgress, signal }: ExportOptions,
): Promise<ReadableStream<Uint8Array>> {
  const retries = new Retries(connection.outagePatienceMs, signal)
  let bytes = 0
  const open = async () => (await connection.download(url, bytes, signal)).getReader()
  let reader = await open()
  const read = async () => {
    const { done, value } = await reader.read()
    if (done && bytes < totalBytes) throw new Error('the file ended early')
    return value
  }
  const readOn = async () => {
    for (;;) {
      const started = performance.now()
      try {
        return await read()
      } catch (error) {
        signal?.throwIfAborted()
        const broken = new NetworkError(`the download broke off: ${causeOf(error)}`)
        await retries.pause(broken, performance.now() - started)
        reader = await open()
      }
    }
  }
  return new ReadableStream({
    async pull(controller) {
      const chunk = await readOn()
      if (chunk === undefined) return controller.close()
      bytes += chunk.length
      onProgress?.({ phase: 'download', bytes, totalBytes })
      controller.enqueue(chunk)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}
