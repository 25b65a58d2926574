import { decompress } from '@sluice/csv'
import type { FileContext, StoredFile } from './context.ts'

/**
 * Streams a stored file, uncompressed, from a byte offset on.
 *
 * A plain file is read from there; of a compressed one, what lies before is decompressed and dropped. Throws `FileError`
 * where the file is bad, `ObjectGone` and `ObjectReplaced`, what storage throws, and an AbortError when the process shuts down.
 */
export async function* openSource(context: FileContext, file: StoredFile, position: number): AsyncGenerator<Buffer> {
  const gzip = file.contentType === 'application/gzip'
  const options = {
    from: gzip ? 0 : position,
    ...(file.etag !== null && { etag: file.etag }),
    ...(context.shutdown !== undefined && { signal: context.shutdown }),
  }
  const stored = await context.storage.read(file.objectKey, options)
  try {
    const limit = context.settings.UNCOMPRESSED_LIMIT - options.from
    let skip = position - options.from
    for await (const chunk of decompress(stored, { gzip, limit })) {
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
