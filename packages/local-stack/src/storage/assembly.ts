import { createHash } from 'node:crypto'
import { type NamedPart, type PartInfo, S3Error } from '@sluice/s3-endpoint'
import { openObjectFile, readBytes } from './object-file.ts'

/** The smallest part, except for the last part, as in S3. */
const minPartBytes = 5 * 1024 * 1024

/**
 * Returns the stored parts that the sender names, in order. Throws InvalidPart if a part is missing or has another
 * ETag, and EntityTooSmall if a part that is not the last one is too small.
 */
export function choose(named: readonly NamedPart[], stored: readonly PartInfo[]): PartInfo[] {
  const byNumber = new Map(stored.map((part) => [part.partNumber, part]))
  return named.map(({ partNumber, etag }, index) => {
    const part = byNumber.get(partNumber)
    if (part?.etag !== etag) {
      throw new S3Error('InvalidPart', 'One or more of the specified parts could not be found.', {
        fields: { PartNumber: String(partNumber) },
      })
    }
    if (index < named.length - 1 && part.size < minPartBytes) {
      throw new S3Error('EntityTooSmall', 'Your proposed upload is smaller than the minimum allowed size', {
        fields: { PartNumber: String(partNumber), ProposedSize: String(part.size) },
      })
    }
    return part
  })
}

/** Returns the ETag of an object of these parts. As in S3, it is the MD5 of the parts' MD5s, and their number. */
export function etagOf(parts: readonly PartInfo[]): string {
  const md5s = Buffer.concat(parts.map((part) => Buffer.from(part.etag, 'hex')))
  return `${createHash('md5').update(md5s).digest('hex')}-${parts.length}`
}

/** Reads the bytes of files, one after the other. */
export async function* readFiles(paths: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const path of paths) {
    const file = await openObjectFile(path)
    if (file === undefined) throw new Error('a part of a multipart upload has vanished')
    try {
      yield* readBytes(file, { start: 0, end: file.size - 1 })
    } finally {
      await file.handle.close()
    }
  }
}
