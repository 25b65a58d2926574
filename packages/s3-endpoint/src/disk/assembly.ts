import { createHash } from 'node:crypto'
import type {
  ChecksumAlgorithm,
  Checksums,
  NamedPart,
  ObjectInfo,
  ObjectMetadata,
  ObjectName,
  PartInfo,
  WriteCondition,
} from '../backend.ts'
import { CHECKSUM_ALGORITHMS, createChecksum } from '../body/checksums.ts'
import type { Hasher } from '../body/hasher.ts'
import { S3Error } from '../errors.ts'
import { openObjectFile, readBytes, wholeSecond } from './object-file.ts'
import type { ObjectStore } from './object-store.ts'

/** Parts but the last must have so many bytes; S3's own figure. */
const MIN_PART_BYTES = 5 * 1024 * 1024

/** What an object is made of: `parts` as the sender names them, `stored` as they are there. */
export type AssemblyOptions = {
  name: ObjectName
  uploadId: string
  metadata: ObjectMetadata
  parts: NamedPart[]
  stored: PartInfo[]
  pathOf: (partNumber: number) => string
  condition: WriteCondition | undefined
  /** Of the whole object, as far as the sender gave them. */
  checksums: Checksums
}

/**
 * Writes the parts of a multipart upload as one object. Its ETag is S3's: the MD5 of the parts' MD5s, and their number.
 *
 * Throws InvalidPart, EntityTooSmall, BadDigest or PreconditionFailed; nothing is stored then.
 */
export async function assemble(store: ObjectStore, options: AssemblyOptions): Promise<ObjectInfo> {
  const chosen = choose(options.parts, options.stored)
  const checksums = new Map<ChecksumAlgorithm, Hasher>()
  for (const algorithm of CHECKSUM_ALGORITHMS) {
    if (options.checksums[algorithm] !== undefined) checksums.set(algorithm, createChecksum(algorithm))
  }
  const md5s = Buffer.concat(chosen.map((part) => Buffer.from(part.etag, 'hex')))
  const etag = `${createHash('md5').update(md5s).digest('hex')}-${chosen.length}`
  const { name, uploadId, metadata, condition } = options
  return store.write(name, readParts(chosen, options.pathOf, [...checksums.values()]), {
    condition,
    makeRecord: () => {
      const verified = verify(checksums, options.checksums)
      return { key: name.key, etag, modifiedAt: wholeSecond(), metadata, checksums: verified, uploadId }
    },
  })
}

function choose(named: NamedPart[], stored: PartInfo[]): PartInfo[] {
  const byNumber = new Map(stored.map((part) => [part.partNumber, part]))
  return named.map(({ partNumber, etag, checksums }, index) => {
    const part = byNumber.get(partNumber)
    const differs = CHECKSUM_ALGORITHMS.some((algorithm) => {
      const known = part?.checksums[algorithm]
      return known !== undefined && known !== (checksums[algorithm] ?? known)
    })
    if (part === undefined || part.etag !== etag || differs) {
      throw new S3Error('InvalidPart', 'One or more of the specified parts could not be found.', {
        fields: { PartNumber: String(partNumber) },
      })
    }
    if (index < named.length - 1 && part.size < MIN_PART_BYTES) {
      throw new S3Error('EntityTooSmall', 'Your proposed upload is smaller than the minimum allowed size', {
        fields: { PartNumber: String(partNumber), ProposedSize: String(part.size) },
      })
    }
    return part
  })
}

async function* readParts(
  parts: PartInfo[],
  pathOf: (partNumber: number) => string,
  hashers: Hasher[],
): AsyncGenerator<Uint8Array> {
  for (const { partNumber } of parts) {
    const file = await openObjectFile(pathOf(partNumber))
    if (file === undefined) throw new Error(`part ${partNumber} of a multipart upload has vanished`)
    try {
      for await (const chunk of readBytes(file, { start: 0, end: file.size - 1 })) {
        for (const hasher of hashers) hasher.update(chunk)
        yield chunk
      }
    } finally {
      await file.handle.close()
    }
  }
}

function verify(computed: Map<ChecksumAlgorithm, Hasher>, given: Checksums): Checksums {
  const checksums: Checksums = {}
  for (const [algorithm, hasher] of computed) {
    const value = hasher.digest().toString('base64')
    if (value !== given[algorithm]) {
      throw new S3Error('BadDigest', `The ${algorithm.toUpperCase()} you specified did not match what we received.`)
    }
    checksums[algorithm] = value
  }
  return checksums
}
