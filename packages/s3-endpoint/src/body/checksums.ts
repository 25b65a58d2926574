import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { ChecksumAlgorithm } from '../backend.ts'
import { createCrc32c, createCrc64Nvme } from './crc.ts'
import type { Hasher } from './hasher.ts'

const hashers: Record<ChecksumAlgorithm, { bytes: number; create: () => Hasher }> = {
  crc32: { bytes: 4, create: createCrc32 },
  crc32c: { bytes: 4, create: createCrc32c },
  crc64nvme: { bytes: 8, create: createCrc64Nvme },
  sha1: { bytes: 20, create: () => createHash('sha1') },
  sha256: { bytes: 32, create: () => createHash('sha256') },
}

/** The supported algorithms, as they are named in `x-amz-checksum-…`. */
export const checksumAlgorithms: readonly ChecksumAlgorithm[] = ['crc32', 'crc32c', 'crc64nvme', 'sha1', 'sha256']

/** Creates a hasher for a checksum. */
export function createChecksum(algorithm: ChecksumAlgorithm): Hasher {
  return hashers[algorithm].create()
}

/** Whether a text is base64 and has the length of a checksum by this algorithm. */
export function isChecksum(algorithm: ChecksumAlgorithm, text: string): boolean {
  return isBase64OfBytes(text, hashers[algorithm].bytes)
}

/** Whether a text is canonical base64 and decodes to `bytes` bytes. */
export function isBase64OfBytes(text: string, bytes: number): boolean {
  const decoded = Buffer.from(text, 'base64')
  return decoded.length === bytes && decoded.toString('base64') === text
}

function createCrc32(): Hasher {
  let value = 0
  return {
    update: (chunk) => {
      value = crc32(chunk, value)
    },
    digest: () => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(value)
      return bytes
    },
  }
}
