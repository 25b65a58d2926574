import { CHECKSUM_ALGORITHMS } from '../body/checksums.ts'
import { S3Error } from '../errors.ts'
import type { RequestHeaders } from './headers.ts'

/** The x-amz headers that an operation heeds, or that change nothing. */
const KNOWN = new Set([
  ...CHECKSUM_ALGORITHMS.map((algorithm) => `x-amz-checksum-${algorithm}`),
  'x-amz-acl',
  'x-amz-checksum-algorithm',
  'x-amz-checksum-mode',
  'x-amz-checksum-type',
  'x-amz-content-sha256',
  'x-amz-copy-source',
  'x-amz-copy-source-if-match',
  'x-amz-copy-source-if-modified-since',
  'x-amz-copy-source-if-none-match',
  'x-amz-copy-source-if-unmodified-since',
  'x-amz-date',
  'x-amz-decoded-content-length',
  'x-amz-metadata-directive',
  'x-amz-mp-object-size',
  'x-amz-sdk-checksum-algorithm',
  'x-amz-storage-class',
  'x-amz-trailer',
  'x-amz-user-agent',
])
/** Access lists that say no more than what always holds here: what is stored belongs to the bucket's owner alone. */
const PRIVATE_ACLS = new Set(['private', 'bucket-owner-read', 'bucket-owner-full-control'])

/**
 * Refuses headers that ask for what this endpoint cannot do, such as encryption: passing over them would be a lie.
 *
 * Throws NotImplemented, AccessControlListNotSupported or InvalidStorageClass.
 */
export function checkKnownHeaders(headers: RequestHeaders): void {
  for (const name of headers.keys()) {
    if (!name.startsWith('x-amz-') || name.startsWith('x-amz-meta-') || KNOWN.has(name)) continue
    throw new S3Error('NotImplemented', 'A header you provided implies functionality that is not implemented.', {
      fields: { Header: name },
    })
  }
  if (!PRIVATE_ACLS.has(headers.get('x-amz-acl') ?? 'private')) {
    throw new S3Error('AccessControlListNotSupported', 'The bucket does not allow ACLs')
  }
  if ((headers.get('x-amz-storage-class') ?? 'STANDARD') !== 'STANDARD') {
    throw new S3Error('InvalidStorageClass', 'The storage class you specified is not valid.')
  }
}
