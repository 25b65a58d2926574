import { ObjectGone, type Storage } from '@sluice/storage'
import type { StoredFile } from '../context.ts'

/** Bytes at the end of a gzip member that hold its uncompressed length, modulo 2^32. */
const lengthBytes = 4

/**
 * How long an import's file is uncompressed, bytes: of a compressed one this is what its end says, which is too little where
 * it has several members. For a progress bar; undefined where nobody can tell yet.
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
