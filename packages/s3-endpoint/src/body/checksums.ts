import { createHash } from 'node:crypto'
import { Crc32, Crc32c, Crc64Nvme } from '@aws-sdk/checksums/crc'
import type { ChecksumAlgorithm } from '../backend.ts'

/** A digest that is being computed. `digest` returns the bytes and may be called once. */
export interface Hasher {
  update(chunk: Uint8Array): void
  digest(): Uint8Array | Promise<Uint8Array>
}

const hashers: Record<ChecksumAlgorithm, { bytes: number; create: () => Hasher }> = {
  crc32: { bytes: 4, create: () => new Crc32() },
  crc32c: { bytes: 4, create: () => new Crc32c() },
  crc64nvme: { bytes: 8, create: () => new Crc64Nvme() },
  sha1: { bytes: 20, create: () => createHash('sha1') },
  sha256: { bytes: 32, create: () => createHash('sha256') },
}

/** The supported algorithms, as they are named in `x-amz-checksum-…`. */
export const checksumAlgorithms: readonly ChecksumAlgorithm[] = ['crc32', 'crc32c', 'crc64nvme', 'sha1', 'sha256']

export function createChecksum(algorithm: ChecksumAlgorithm): Hasher {
  return hashers[algorithm].create()
}

/** Returns the checksum of a hasher that has received all bytes, in base64. */
export async function base64Of(hasher: Hasher): Promise<string> {
  return Buffer.from(await hasher.digest()).toString('base64')
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
