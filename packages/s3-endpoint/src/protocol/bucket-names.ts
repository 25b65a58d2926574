import { S3Error } from '../errors.ts'

const validName = /^[a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9]$/
/** IPv4 addresses, and labels of a host name that begin or end with a hyphen. */
const ambiguousName = /^\d+\.\d+\.\d+\.\d+$|\.-|-\./
/** S3 keeps these for other things than buckets: names in Punycode, access points, aliases, directories, tables. */
const reservedName = /^(?:xn--|sthree-|amzn-s3-demo-)|(?:-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)$/

/**
 * Returns the name if a bucket can have it. Throws InvalidBucketName otherwise.
 *
 * Names that only the creation refuses are accepted: a bucket of an earlier version stays reachable.
 */
export function checkBucketName(name: string): string {
  if (!validName.test(name)) throw invalid(name)
  return name
}

/** Returns the name if S3 would create a bucket under it. Throws InvalidBucketName otherwise. */
export function checkNewBucketName(name: string): string {
  if (!validName.test(name) || ambiguousName.test(name) || reservedName.test(name)) throw invalid(name)
  return name
}

function invalid(name: string): S3Error {
  return new S3Error('InvalidBucketName', 'The specified bucket is not valid.', { fields: { BucketName: name } })
}
