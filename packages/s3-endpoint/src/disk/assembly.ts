import { createHash } from 'node:crypto'
import type {
  ChecksumPlan,
  Checksums,
  NamedPart,
  ObjectClaims,
  ObjectInfo,
  ObjectMetadata,
  ObjectName,
  PartInfo,
  WriteCondition,
} from '../backend.ts'
import { checksumAlgorithms, createChecksum } from '../body/checksums.ts'
import type { Hasher } from '../body/hasher.ts'
import { checkClaim, checkClaimedSize, compositeChecksum, planAtEnd } from '../body/object-checksum.ts'
import { S3Error } from '../errors.ts'
import { openObjectFile, readHashed, wholeSecond } from './object-file.ts'
import type { ObjectStore } from './object-store.ts'

/** The smallest part, except for the last part, as in S3. */
const minPartBytes = 5 * 1024 * 1024

/** The components of an object: `parts` as the sender names them, and `stored`, the parts on disk. */
export type AssemblyOptions = {
  name: ObjectName
  uploadId: string
  metadata: ObjectMetadata
  /** The checksum with which the upload was begun. */
  plan: ChecksumPlan | undefined
  parts: NamedPart[]
  stored: PartInfo[]
  pathOf: (partNumber: number) => string
  condition: WriteCondition | undefined
  claims: ObjectClaims
}

/**
 * Writes the parts of a multipart upload as one object. As in S3, the ETag is the MD5 of the parts' MD5s, and their
 * number.
 *
 * Throws InvalidPart, EntityTooSmall, BadDigest, InvalidRequest or PreconditionFailed. Nothing is stored then.
 */
export async function assemble(store: ObjectStore, options: AssemblyOptions): Promise<ObjectInfo> {
  const { name, uploadId, metadata, condition, claims } = options
  const chosen = choose(options.parts, options.stored)
  const size = chosen.reduce((sum, part) => sum + part.size, 0)
  checkClaimedSize(size, claims)
  const checksum = prepareChecksum(chosen, planAtEnd(options.plan, claims), claims)
  const md5s = Buffer.concat(chosen.map((part) => Buffer.from(part.etag, 'hex')))
  const etag = `${createHash('md5').update(md5s).digest('hex')}-${chosen.length}`
  return store.write(name, readParts(chosen, options.pathOf, checksum?.hasher), {
    condition,
    makeRecord: () => {
      const checksums = checksum?.finish() ?? {}
      const record = { key: name.key, etag, modifiedAt: wholeSecond(), metadata, checksums, uploadId }
      return checksum === undefined ? record : { ...record, checksumType: checksum.type }
    },
  })
}

/** The checksum of an object that is being written. `finish` returns it after `hasher` has received all bytes. */
type PreparedChecksum = { type: ChecksumPlan['type']; hasher: Hasher | undefined; finish(): Checksums }

/**
 * Prepares the object's checksum. A composite checksum is computed and compared with the claims at once.
 *
 * `finish` throws BadDigest if the checksum of the bytes is not the claimed one.
 */
function prepareChecksum(
  parts: PartInfo[],
  plan: ChecksumPlan | undefined,
  claims: ObjectClaims,
): PreparedChecksum | undefined {
  if (plan === undefined) return undefined
  const { algorithm, type } = plan
  if (type === 'COMPOSITE') {
    const composite = compositeChecksum(algorithm, parts)
    if (composite === undefined) {
      throw new S3Error('InvalidRequest', `A part has no ${algorithm}, so the object cannot have one of its parts.`)
    }
    checkClaim(composite, claims)
    return { type, hasher: undefined, finish: () => ({ [algorithm]: composite }) }
  }
  const hasher = createChecksum(algorithm)
  const finish = () => {
    const digest = hasher.digest().toString('base64')
    checkClaim(digest, claims)
    return { [algorithm]: digest }
  }
  return { type, hasher, finish }
}

function choose(named: NamedPart[], stored: PartInfo[]): PartInfo[] {
  const byNumber = new Map(stored.map((part) => [part.partNumber, part]))
  return named.map(({ partNumber, etag, checksums }, index) => {
    const part = byNumber.get(partNumber)
    const differs = checksumAlgorithms.some((algorithm) => {
      return checksums[algorithm] !== undefined && checksums[algorithm] !== part?.checksums[algorithm]
    })
    if (part === undefined || part.etag !== etag || differs) {
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

async function* readParts(
  parts: PartInfo[],
  pathOf: (partNumber: number) => string,
  hasher: Hasher | undefined,
): AsyncGenerator<Uint8Array> {
  for (const { partNumber } of parts) {
    const file = await openObjectFile(pathOf(partNumber))
    if (file === undefined) throw new Error(`part ${partNumber} of a multipart upload has vanished`)
    try {
      yield* readHashed(file, hasher)
    } finally {
      await file.handle.close()
    }
  }
}
