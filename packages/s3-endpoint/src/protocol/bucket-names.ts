import { S3Error } from '../errors.ts'

const validName = /^[a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9]$/
/** IPv4 addresses, and labels of a host name that begin or end with a hyphen. */
const ambiguousName = /^\d+\.\d+\.\d+\.\d+$|\.-|-\./
/** Names that S3 reserves: Punycode, access points, aliases, directories, tables. */
const reservedName = /^(?:xn--|sthree-|amzn-s3-demo-)|(?:-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)$/

/**
 * Checks the name of an existing bucket. Returns the name. Throws InvalidBucketName if no bucket can have it.
 *
 * It accepts some names that {@link checkNewBucketName} refuses, so that buckets of earlier versions stay reachable.
 */
export function checkBucketName(name: string): string {
  if (!validName.test(name)) throw invalid(name)
  return name
}

/** Checks the name of a new bucket. Returns the name. Throws InvalidBucketName if S3 would refuse it. */
export function checkNewBucketName(name: string): string {
  if (!validName.test(name) || ambiguousName.test(name) || reservedName.test(name)) throw invalid(name)
  return name
}

function invalid(name: string): S3Error {
  return new S3Error('InvalidBucketName', 'The specified bucket is not valid.', { fields: { BucketName: name } })
}
