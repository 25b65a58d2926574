import { gzipMagicBytes, isGzip } from '@sluice/csv'
import type { ImportContentType } from '@sluice/database'
import {
  discardReception,
  type ExpectedFile,
  queueReception,
  type ReceptionContext,
  reserveReception,
} from './reception.ts'

/** A file that somebody uploads in the dashboard. */
export interface UploadedFile extends Omit<ExpectedFile, 'source' | 'contentType'> {
  /** Undefined where the browser does not say it. */
  byteSize: number | undefined
  bytes: AsyncIterable<Buffer>
}

/**
 * Takes a file that is uploaded in the dashboard: like v2, but what is wrong with the file is found when the import runs, and
 * told by its mail (design.md §3, File-level errors). Whether it is compressed is told by its first two bytes.
 *
 * Gives the import's ID; undefined where it was cancelled while its file came. What reading the bytes throws passes through,
 * and leaves nothing behind. Throws `TooManyWaiting` before the bytes are read.
 */
export async function receiveUpload(
  context: ReceptionContext,
  appId: number,
  { byteSize, bytes, ...file }: UploadedFile,
): Promise<string | undefined> {
  const id = { appId, importId: crypto.randomUUID() }
  // Before the first byte: a file is no younger than its beginning (docs/decisions.md, Deletion requests).
  const objectKey = await reserveReception(context, id, { ...file, source: 'dashboard', contentType: 'text/csv' })
  try {
    const { contentType, content } = await lookAtStart(bytes)
    await context.storage.writeStream(objectKey, content, contentType, { byteSize })
    const stored = await context.storage.stat(objectKey)
    if (stored === undefined) throw new Error(`${objectKey} was stored and is gone`)
    return (await queueReception(context.db, id, { ...stored, contentType })) ? id.importId : undefined
  } catch (error) {
    await discardReception(context, id)
    throw error
  }
}

/** The type of a file by its first bytes, and all of its bytes. */
async function lookAtStart(
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
