import type { ChecksumAlgorithm, ChecksumPlan, Checksums, ChecksumType, ObjectClaims } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { createChecksum } from './checksums.ts'

/** The types that S3 offers for each algorithm. The first one is the default. */
const typesOfAlgorithm: Record<ChecksumAlgorithm, readonly ChecksumType[]> = {
  crc32: ['COMPOSITE', 'FULL_OBJECT'],
  crc32c: ['COMPOSITE', 'FULL_OBJECT'],
  crc64nvme: ['FULL_OBJECT'],
  sha1: ['COMPOSITE'],
  sha256: ['COMPOSITE'],
}

/**
 * Returns the plan for an algorithm. Without a type, the plan has the algorithm's default type.
 *
 * Throws InvalidRequest if S3 does not offer the type for the algorithm.
 */
export function makePlan(algorithm: ChecksumAlgorithm, type: ChecksumType | undefined): ChecksumPlan {
  const [defaultType = 'FULL_OBJECT'] = typesOfAlgorithm[algorithm]
  const plan = { algorithm, type: type ?? defaultType }
  if (!typesOfAlgorithm[algorithm].includes(plan.type)) {
    throw new S3Error('InvalidRequest', `The ${plan.type} checksum type cannot be used with ${algorithm}.`)
  }
  return plan
}

/**
 * Returns the plan for the checksum of a completed object: the plan of the upload, or otherwise the claim at its end.
 *
 * Throws BadDigest if plan and claim differ, and InvalidRequest if S3 has no such checksum.
 */
export function planAtEnd(begun: ChecksumPlan | undefined, claims: ObjectClaims): ChecksumPlan | undefined {
  const { checksum, type } = claims
  if (begun !== undefined) {
    const isSame = (type ?? begun.type) === begun.type && (checksum?.algorithm ?? begun.algorithm) === begun.algorithm
    if (!isSame) throw new S3Error('BadDigest', `The upload was begun with ${begun.algorithm} as ${begun.type}.`)
    return begun
  }
  return checksum === undefined ? undefined : makePlan(checksum.algorithm, type)
}

/**
 * Computes the checksum over the parts' checksums, in the form of S3: the digest and the number of parts.
 *
 * Returns undefined if a part has no checksum by the algorithm.
 */
export function compositeChecksum(
  algorithm: ChecksumAlgorithm,
  parts: readonly { checksums: Checksums }[],
): string | undefined {
  const hasher = createChecksum(algorithm)
  for (const { checksums } of parts) {
    const digest = checksums[algorithm]
    if (digest === undefined) return undefined
    hasher.update(Buffer.from(digest, 'base64'))
  }
  return `${hasher.digest().toString('base64')}-${parts.length}`
}

/** Throws BadDigest if the sender claims another checksum of the object. The claim may lack the number of parts. */
export function checkClaim(computed: string, { checksum }: ObjectClaims): void {
  if (checksum === undefined) return
  const [digest, parts] = computed.split('-')
  if (checksum.digest !== digest || (checksum.parts ?? parts) !== parts) {
    throw new S3Error('BadDigest', `The ${checksum.algorithm} of the object is not the one that you specified.`)
  }
}

/** Throws InvalidRequest if the sender claims another size of the object. `size` is in bytes. */
export function checkClaimedSize(size: number, claims: ObjectClaims): void {
  if ((claims.size ?? size) !== size) {
    throw new S3Error('InvalidRequest', 'The size of the parts is not the object size that you specified.')
  }
}
