import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { FileError } from './file-error.ts'
import { gzipMagicBytes, isGzip } from './gzip.ts'

export interface DecompressOptions {
  /** Whether the bytes are gzip. */
  gzip: boolean
  /** Most bytes that the file may have uncompressed. */
  limit: number
}

/**
 * Gives the uncompressed bytes of a stored file (design.md §3, Gzip and Sizes); several gzip members are one stream.
 * What isn't said to be gzip passes through as it is, whatever its first bytes.
 *
 * Throws {@link FileError} where gzip bytes are empty, are not gzip, are damaged, cut off, or followed by anything else,
 * and where there are more than `limit` uncompressed bytes; what came before the error is given first. Errors of the
 * source pass through. Memory is flat. The source is destroyed when the caller stops early, once it has begun to read.
 */
export async function* decompress(
  source: Readable | AsyncIterable<Buffer>,
  { gzip, limit }: DecompressOptions,
): AsyncGenerator<Buffer, void, void> {
  let total = 0
  for await (const chunk of gzip ? gunzip(source) : source) {
    total += chunk.length
    if (total > limit) throw new FileError(`uncompressed size over ${limit} bytes`)
    yield chunk
  }
}

const CHUNK_BYTES = 64 * 1024

async function* gunzip(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  const inflater = createGunzip({ chunkSize: CHUNK_BYTES })
  let compressed = 0
  async function* counted(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of startingWithMagic(chunks)) {
      compressed += chunk.length
      yield chunk
    }
  }
  // The error is thrown by the loop below as well.
  pipeline(source, counted, inflater, () => {})
  try {
    yield* inflater
  } catch (error) {
    throw isZlibError(error) ? new FileError('file maybe corrupt', { cause: error }) : error
  }
  // Zero bytes behind a member end zlib's reading without an error, whatever comes after them.
  if (inflater.bytesWritten !== compressed) throw new FileError('file maybe corrupt')
}

/** Passes bytes on once the first two are those of gzip. */
async function* startingWithMagic(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of source) {
    if (head === undefined) {
      yield chunk
      continue
    }
    head = Buffer.concat([head, chunk])
    if (head.length < gzipMagicBytes) continue
    if (!isGzip(head)) break
    yield head
    head = undefined
  }
  if (head !== undefined) throw new FileError(head.length === 0 ? 'empty file' : 'not in gzip format')
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_')
}
