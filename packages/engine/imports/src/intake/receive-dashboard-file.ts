import { gzipMagicBytes, isGzip } from '@sluice/csv'
import type { ImportContentType } from '@sluice/database'
import { receiveFile } from './receive-file.ts'
import type { ExpectedFile, ReceiveFileContext } from './reservation.ts'

/** A file that a person uploads in the dashboard. */
export interface UploadedFile extends Omit<ExpectedFile, 'source' | 'contentType'> {
  /** Number of bytes that the browser declares; undefined if it declares none. */
  byteSize: number | undefined
  bytes: AsyncIterable<Buffer>
}

/**
 * Receives a file that is uploaded in the dashboard. The first two bytes tell whether it is compressed. The file is
 * inspected when the import runs, and a mail reports its errors (design.md §3, File-level errors).
 *
 * Returns the import's ID; undefined if the import was cancelled while its file came. Throws `TooManyWaiting` before
 * the bytes are read. Throws what reading the bytes throws, and leaves nothing behind then.
 */
export async function receiveDashboardFile(
  context: ReceiveFileContext,
  appId: number,
  { byteSize, bytes, ...file }: UploadedFile,
): Promise<string | undefined> {
  const id = { appId, importId: crypto.randomUUID() }
  // The type is unknown until the first bytes are read. Queueing the import corrects it.
  const expected = { ...file, source: 'dashboard', contentType: 'text/csv' } as const
  const open = async () => ({ byteSize, ...(await detectType(bytes)) })
  const received = await receiveFile(context, id, expected, { open, check: async () => {} })
  return received === undefined ? undefined : id.importId
}

/** Returns the type of a file by its first bytes, and all of its bytes. */
async function detectType(
  bytes: AsyncIterable<Buffer>,
): Promise<{ contentType: ImportContentType; content: AsyncIterable<Buffer> }> {
  const rest = bytes[Symbol.asyncIterator]()
  let start = Buffer.alloc(0)
  while (start.length < gzipMagicBytes) {
    const next = await rest.next()
    if (next.done) break
    start = Buffer.concat([start, next.value])
  }
  async function* content() {
    if (start.length > 0) yield start
    yield* { [Symbol.asyncIterator]: () => rest }
  }
  return { contentType: isGzip(start) ? 'application/gzip' : 'text/csv', content: content() }
}
