import type { ChecksumAlgorithm, ChecksumPlan, ChecksumType, ObjectClaims } from '../backend.ts'
import { checksumAlgorithms, isChecksum } from '../body/checksums.ts'
import { makePlan } from '../body/object-checksum.ts'
import { S3Error } from '../errors.ts'
import type { RequestHeaders } from '../protocol/headers.ts'

/** Reads x-amz-checksum-algorithm. Throws NotImplemented if this endpoint does not compute the algorithm. */
export function readAlgorithm(headers: RequestHeaders): ChecksumAlgorithm | undefined {
  const text = headers.get('x-amz-checksum-algorithm')
  if (text === undefined) return undefined
  const found = checksumAlgorithms.find((algorithm) => algorithm === text.toLowerCase())
  if (found === undefined) throw new S3Error('NotImplemented', 'This checksum algorithm is not implemented.')
  return found
}

/**
 * Reads the checksum plan with which an upload in parts begins. Throws NotImplemented if this endpoint does not compute
 * the algorithm, and InvalidRequest if algorithm and type do not fit.
 */
export function readPlan(headers: RequestHeaders): ChecksumPlan | undefined {
  const algorithm = readAlgorithm(headers)
  const type = readType(headers)
  if (algorithm !== undefined) return makePlan(algorithm, type)
  if (type !== undefined) throw new S3Error('InvalidRequest', 'x-amz-checksum-type needs x-amz-checksum-algorithm.')
  return undefined
}

/** Reads the claims about the object at the end of an upload in parts. Throws InvalidRequest if a value is broken. */
export function readObjectClaims(headers: RequestHeaders): ObjectClaims {
  const claimed = checksumAlgorithms.flatMap((algorithm) => {
    const value = headers.get(`x-amz-checksum-${algorithm}`)
    return value === undefined ? [] : [parseClaim(algorithm, value)]
  })
  if (claimed.length > 1) throw new S3Error('InvalidRequest', 'Expecting a single x-amz-checksum- header')
  const size = headers.get('x-amz-mp-object-size')
  if (size !== undefined && !/^\d{1,15}$/.test(size)) {
    throw new S3Error('InvalidRequest', 'x-amz-mp-object-size must be a whole number.')
  }
  return { type: readType(headers), checksum: claimed[0], size: size === undefined ? undefined : Number(size) }
}

function readType(headers: RequestHeaders): ChecksumType | undefined {
  const type = headers.get('x-amz-checksum-type')?.toUpperCase()
  if (type !== undefined && type !== 'COMPOSITE' && type !== 'FULL_OBJECT') {
    throw new S3Error('InvalidRequest', 'x-amz-checksum-type must be COMPOSITE or FULL_OBJECT.')
  }
  return type
}

function parseClaim(algorithm: ChecksumAlgorithm, value: string): NonNullable<ObjectClaims['checksum']> {
  const [digest = '', parts, ...more] = value.split('-')
  if (!isChecksum(algorithm, digest) || !/^(?:[1-9]\d{0,4})?$/.test(parts ?? '') || parts === '' || more.length > 0) {
    throw new S3Error('InvalidRequest', `Value for x-amz-checksum-${algorithm} header is invalid.`)
  }
  return { algorithm, digest, parts }
}
