import { S3Error } from '../errors.ts'

const FORM = /^[a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9]$/
/** IPv4 addresses, and labels of a host name that begin or end with a hyphen. */
const AMBIGUOUS = /^\d+\.\d+\.\d+\.\d+$|\.-|-\./
/** S3 keeps these for other things than buckets: names in Punycode, access points, aliases, directories, tables. */
const RESERVED = /^(?:xn--|sthree-|amzn-s3-demo-)|(?:-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)$/

/**
 * Returns the name if a bucket can have it. Throws InvalidBucketName otherwise.
 *
 * Names that only the creation refuses are accepted: a bucket of an earlier version stays reachable.
 */
export function checkBucketName(name: string): string {
  if (!FORM.test(name)) throw invalid(name)
  return name
}

/** Returns the name if S3 would create a bucket under it. Throws InvalidBucketName otherwise. */
export function checkNewBucketName(name: string): string {
  if (!FORM.test(name) || AMBIGUOUS.test(name) || RESERVED.test(name)) throw invalid(name)
  return name
}

function invalid(name: string): S3Error {
  return new S3Error('InvalidBucketName', 'The specified bucket is not valid.', { fields: { BucketName: name } })
}
