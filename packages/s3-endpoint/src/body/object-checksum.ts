import type {
  ChecksumAlgorithm,
  ChecksumPlan,
  Checksums,
  ChecksumType,
  DeclaredObject,
  NamedPart,
  Upload,
} from '../backend.ts'
import { S3Error } from '../errors.ts'
import type { RequestHeaders } from '../protocol/headers.ts'
import { base64Of, checksumAlgorithms, createChecksum, isChecksum } from './checksums.ts'

/** The types that S3 offers for each algorithm. The first one is the default. */
const typesOfAlgorithm: Record<ChecksumAlgorithm, readonly [ChecksumType, ...ChecksumType[]]> = {
  crc32: ['COMPOSITE', 'FULL_OBJECT'],
  crc32c: ['COMPOSITE', 'FULL_OBJECT'],
  crc64nvme: ['FULL_OBJECT'],
  sha1: ['COMPOSITE'],
  sha256: ['COMPOSITE'],
}

/**
 * Reads the checksum plan with which an upload in parts begins. Throws NotImplemented if this endpoint does not compute
 * the algorithm, and InvalidRequest if algorithm and type do not fit.
 */
export function readPlan(headers: RequestHeaders): ChecksumPlan | undefined {
  const text = headers.get('x-amz-checksum-algorithm')
  const type = readType(headers)
  if (text !== undefined) {
    const found = checksumAlgorithms.find((algorithm) => algorithm === text.toLowerCase())
    if (found === undefined) throw new S3Error('NotImplemented', 'This checksum algorithm is not implemented.')
    return makePlan(found, type)
  }
  if (type !== undefined) throw new S3Error('InvalidRequest', 'x-amz-checksum-type needs x-amz-checksum-algorithm.')
  return undefined
}

/** Reads what headers declare about an object at the end of its upload. Throws InvalidRequest if a value is broken. */
export function readDeclaredObject(headers: RequestHeaders): DeclaredObject {
  const declared = checksumAlgorithms.flatMap((algorithm) => {
    const value = headers.get(`x-amz-checksum-${algorithm}`)
    return value === undefined ? [] : [parseChecksum(algorithm, value)]
  })
  if (declared.length > 1) throw new S3Error('InvalidRequest', 'Expecting a single x-amz-checksum- header')
  const size = headers.get('x-amz-mp-object-size')
  if (size !== undefined && !/^\d{1,15}$/.test(size)) {
    throw new S3Error('InvalidRequest', 'x-amz-mp-object-size must be a whole number.')
  }
  return { type: readType(headers), checksum: declared[0], size: size === undefined ? undefined : Number(size) }
}

/** Throws InvalidRequest if a part has a checksum by another algorithm than the one with which its upload began. */
export function checkPart({ algorithm }: Upload, plan: ChecksumPlan | undefined): void {
  if (plan !== undefined && algorithm !== undefined && algorithm !== plan.algorithm) {
    throw new S3Error(
      'InvalidRequest',
      `The upload was begun with ${plan.algorithm}, but this part has a ${algorithm}.`,
    )
  }
}

/**
 * Compares what the sender states about an object of `size` bytes with the plan of its upload, and with the checksums
 * by which the sender names its parts. Each part was verified when it was received.
 *
 * Throws InvalidRequest if the size differs, BadDigest if plan or checksum differ, and NotImplemented for a checksum
 * that does not follow from the parts' checksums.
 */
export async function checkDeclaredObject(
  begun: ChecksumPlan | undefined,
  declared: DeclaredObject,
  parts: readonly Pick<NamedPart, 'checksums'>[],
  size: number,
): Promise<void> {
  const { checksum, type } = declared
  const isSame = (type ?? begun?.type) === begun?.type && (checksum?.algorithm ?? begun?.algorithm) === begun?.algorithm
  if (begun !== undefined && !isSame) {
    throw new S3Error('BadDigest', `The upload was begun with ${begun.algorithm} as ${begun.type}.`)
  }
  if ((declared.size ?? size) !== size) {
    throw new S3Error('InvalidRequest', 'The size of the parts is not the object size that you specified.')
  }
  if (checksum === undefined) return
  const plan = begun ?? makePlan(checksum.algorithm, type)
  const composite = plan.type === 'COMPOSITE' ? await compositeChecksum(plan.algorithm, parts) : undefined
  if (composite === undefined) {
    throw new S3Error('NotImplemented', `The ${plan.algorithm} of a whole file is not computed here.`)
  }
  if (checksum.digest !== composite || (checksum.parts ?? String(parts.length)) !== String(parts.length)) {
    throw new S3Error('BadDigest', `The ${checksum.algorithm} of the object is not the one that you specified.`)
  }
}

/** Computes the checksum over the parts' checksums. Returns undefined if a part has no checksum by the algorithm. */
async function compositeChecksum(
  algorithm: ChecksumAlgorithm,
  parts: readonly { checksums: Checksums }[],
): Promise<string | undefined> {
  const hasher = createChecksum(algorithm)
  for (const { checksums } of parts) {
    const digest = checksums[algorithm]
    if (digest === undefined) return undefined
    hasher.update(Buffer.from(digest, 'base64'))
  }
  return base64Of(hasher)
}

function makePlan(algorithm: ChecksumAlgorithm, type: ChecksumType | undefined): ChecksumPlan {
  const types = typesOfAlgorithm[algorithm]
  const plan = { algorithm, type: type ?? types[0] }
  if (!types.includes(plan.type)) {
    throw new S3Error('InvalidRequest', `The ${plan.type} checksum type cannot be used with ${algorithm}.`)
  }
  return plan
}

function readType(headers: RequestHeaders): ChecksumType | undefined {
  const type = headers.get('x-amz-checksum-type')?.toUpperCase()
  if (type !== undefined && type !== 'COMPOSITE' && type !== 'FULL_OBJECT') {
    throw new S3Error('InvalidRequest', 'x-amz-checksum-type must be COMPOSITE or FULL_OBJECT.')
  }
  return type
}

function parseChecksum(algorithm: ChecksumAlgorithm, value: string): NonNullable<DeclaredObject['checksum']> {
  const [, digest = '', parts] = /^([^-]*)(?:-([1-9]\d{0,4}))?$/.exec(value) ?? []
  if (!isChecksum(algorithm, digest)) {
    throw new S3Error('InvalidRequest', `Value for x-amz-checksum-${algorithm} header is invalid.`)
  }
  return { algorithm, digest, parts }
}
