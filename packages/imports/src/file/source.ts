import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { decompress } from '@sluice/csv'
import { ObjectGone, ObjectReplaced } from '@sluice/storage'
import type { FileContext, StoredFile } from '../context.ts'

/**
 * Streams a stored file, uncompressed, from a byte offset of the uncompressed file on. A compressed file is read from
 * its beginning, and the bytes before the offset are dropped.
 *
 * Throws `FileError` if the file is damaged or too large, `ObjectGone`, `ObjectReplaced`, what storage throws, and an
 * AbortError when the process shuts down.
 */
export async function* openSource(context: FileContext, file: StoredFile, position: number): AsyncGenerator<Buffer> {
  const gzip = file.contentType === 'application/gzip'
  const from = gzip ? 0 : position
  const stored = await openStored(context, file, from)
  try {
    const limit = context.settings.UNCOMPRESSED_LIMIT - from
    let skip = position - from
    for await (const chunk of decompress(stored, { gzip, limitBytes: limit })) {
      if (skip >= chunk.length) skip -= chunk.length
      else {
        yield chunk.subarray(skip)
        skip = 0
      }
    }
  } finally {
    stored.destroy()
  }
}

/**
 * Opens the stored object at an offset. Throws `ObjectReplaced` if the object is not the file whose upload was noticed.
 */
async function openStored(context: FileContext, file: StoredFile, from: number): Promise<Readable> {
  try {
    return await read(context, file, file.etag, from)
  } catch (error) {
    if (!(error instanceof ObjectReplaced)) throw error
    // Later reads under this claim must use the new ETag as well.
    file.etag = await etagOfSameFile(context, file, error)
    return await readCompared(context, file, file.etag, from)
  }
}

/**
 * Compares an object that has another ETag with the file whose upload was noticed. A client that repeats its PUT may
 * change the ETag although the bytes are the same, for example if storage encrypts with SSE-KMS. The MD5 of the file
 * tells whether the bytes are the same. The new ETag is then stored, so that the object is compared only once.
 *
 * Returns the new ETag. Throws `replaced` if the object has other bytes, or if the MD5 is unknown. Throws `ObjectGone`.
 */
async function etagOfSameFile(context: FileContext, file: StoredFile, replaced: ObjectReplaced): Promise<string> {
  if (file.checksum === null) throw replaced
  const stat = await context.storage.stat(file.objectKey)
  if (stat === undefined) throw new ObjectGone(file.objectKey)
  const md5 = createHash('md5')
  for await (const chunk of await readCompared(context, file, stat.etag)) md5.update(chunk)
  if (md5.digest('base64') !== file.checksum) throw replaced
  await context.db
    .updateTable('imports')
    .set({ etag: stat.etag })
    .where('app_id', '=', file.appId)
    .where('import_id', '=', file.importId)
    .execute()
  return stat.etag
}

/**
 * Reads the object with the new ETag. If the object is replaced once more meanwhile, throws an error after which the
 * next try compares it again.
 */
async function readCompared(context: FileContext, file: StoredFile, etag: string, from?: number): Promise<Readable> {
  try {
    return await read(context, file, etag, from)
  } catch (error) {
    if (!(error instanceof ObjectReplaced)) throw error
    throw new Error(`${file.objectKey} was replaced while it was compared`, { cause: error })
  }
}

function read({ storage, shutdown }: FileContext, { objectKey }: StoredFile, etag: string | null, from?: number) {
  return storage.read(objectKey, {
    ...(from !== undefined && { from }),
    ...(etag !== null && { etag }),
    ...(shutdown !== undefined && { signal: shutdown }),
  })
}

/** Yields the first bytes of a source, then stops reading, even within an endless row. */
export async function* firstBytes(source: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes
  for await (const chunk of source) {
    yield chunk.subarray(0, left)
    left -= chunk.length
    if (left <= 0) return
  }
}
