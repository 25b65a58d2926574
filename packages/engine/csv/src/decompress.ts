import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { fileMessages } from '@sluice/contract/import-messages'
import { FileError } from './file-error.ts'
import { gzipMagicBytes, isGzip } from './gzip.ts'

export interface DecompressOptions {
  /** Whether the bytes are gzip. */
  gzip: boolean
  /** Maximum number of uncompressed bytes that the file may have. */
  limitBytes: number
}

/**
 * Decompresses a stored file (design.md §3, Gzip; design.md §3, Sizes). Several gzip members are one stream.
 * A file that is not declared as gzip passes through unchanged, whatever its first bytes.
 *
 * Throws {@link FileError} if gzip bytes are empty, not gzip, damaged, cut off, or followed by other bytes. Throws it
 * as well if there are more than `limitBytes` uncompressed bytes. Errors of the source pass through.
 *
 * Bytes that precede an error are returned first: as many for each reading of the same file. For damaged gzip, up to
 * 64 KiB of them are missing, because zlib drops its last block of output. So a file that is both damaged and too large
 * may be refused for either reason.
 *
 * Memory use is constant. If the caller stops early, the source is destroyed, provided that reading has begun.
 *
 * @example
 * ```ts
 * const file = Readable.from([gzipSync('user_id,age\n'), gzipSync('alice,34\n')])
 * const chunks = await Array.fromAsync(decompress(file, { gzip: true, limitBytes: 1_000 }))
 * Buffer.concat(chunks).toString() // → "user_id,age\nalice,34\n"
 * ```
 */
export async function* decompress(
  source: Readable | AsyncIterable<Buffer>,
  { gzip, limitBytes }: DecompressOptions,
): AsyncGenerator<Buffer, void, void> {
  let total = 0
  for await (const chunk of gzip ? gunzip(source) : source) {
    yield chunk.subarray(0, limitBytes - total)
    total += chunk.length
    if (total > limitBytes) throw new FileError(fileMessages.uncompressedTooLarge(limitBytes))
  }
}

/** Bytes of the blocks that zlib is given, and returns. */
const blockBytes = 64 * 1024

async function* gunzip(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  const inflater = createGunzip({ chunkSize: blockBytes })
  let compressed = 0
  async function* counted(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of startingWithMagic(chunks)) {
      compressed += chunk.length
      yield chunk
    }
  }
  // The callback ignores the error, because the loop below throws it.
  pipeline(source, counted, inBlocks, inflater, () => {})
  try {
    yield* inflater
  } catch (error) {
    // A stream that fails passes on nothing more of what it holds, so that would depend on the speed of its reader.
    for (let block: Buffer | null = inflater.read(); block !== null; block = inflater.read()) yield block
    throw isZlibError(error) ? new FileError(fileMessages.corrupt, { cause: error }) : error
  }
  // At zero bytes after a member, zlib stops reading without an error, whatever follows them. Bytes that it has not
  // read are damage.
  if (inflater.bytesWritten !== compressed) throw new FileError(fileMessages.corrupt)
}

/**
 * Cuts bytes into blocks of equal size, however they arrived. What zlib returns before it finds damage depends on how
 * its input is cut.
 */
async function* inBlocks(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  let block = Buffer.allocUnsafe(blockBytes)
  let filled = 0
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; ) {
      const copied = chunk.copy(block, filled, at)
      at += copied
      filled += copied
      if (filled < blockBytes) continue
      yield block
      block = Buffer.allocUnsafe(blockBytes)
      filled = 0
    }
  }
  if (filled > 0) yield block.subarray(0, filled)
}

/**
 * Passes bytes through if the first two are the magic bytes of gzip. Throws {@link FileError} otherwise
 * (service.md, Errors: 400).
 */
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
  if (head !== undefined) throw new FileError(head.length === 0 ? fileMessages.empty : fileMessages.notGzip)
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_')
}
