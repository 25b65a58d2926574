import { ObjectGone, type Storage } from '@sluice/storage'
import type { StoredFile } from '../context.ts'

/** Bytes at the end of a gzip member that hold its uncompressed length modulo 2^32. */
const lengthBytes = 4

/**
 * Returns the uncompressed size of an import's file in bytes, for a progress bar; undefined if the size is not known
 * yet.
 *
 * The size of a compressed file is read from the end of the file. It is too small if the file has several gzip members,
 * because the end states only the size of the last member.
 */
export async function uncompressedSize(
  storage: Storage,
  { contentType, objectKey, byteSize }: Pick<StoredFile, 'contentType' | 'objectKey'> & { byteSize: number | null },
): Promise<number | undefined> {
  if (byteSize === null) return undefined
  if (contentType === 'text/csv') return byteSize
  if (byteSize < lengthBytes) return undefined
  try {
    const end = Buffer.concat(await (await storage.read(objectKey, { from: byteSize - lengthBytes })).toArray())
    return end.length === lengthBytes ? end.readUInt32LE() : undefined
  } catch (error) {
    if (error instanceof ObjectGone) return undefined
    throw error
  }
}
