import { CHECKSUM_ALGORITHMS } from '../body/checksums.ts'
import { S3Error } from '../errors.ts'
import type { RequestHeaders } from '../protocol/headers.ts'
import type { OperationName } from './context.ts'

/** Headers that steer a request: those of the S3 protocol, and all conditions, whatever their prefix. */
const STEERING = /^x-amz-(?!meta-)|(?:^|-)if-/

/** Headers that describe the request and its body, or whose only accepted values ask for nothing. */
const GENERAL = new Set([
  'x-amz-acl',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-decoded-content-length',
  'x-amz-sdk-checksum-algorithm',
  'x-amz-storage-class',
  'x-amz-user-agent',
])

/** Checksums of the body, of operations that read one. */
const BODY = [...CHECKSUM_ALGORITHMS.map((algorithm) => `x-amz-checksum-${algorithm}`), 'x-amz-trailer']

const READING = [
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'x-amz-checksum-mode',
]

/** Further headers that an operation obeys: its conditions are all here. */
const OBEYED: Partial<Record<OperationName, readonly string[]>> = {
  CompleteMultipartUpload: [...BODY, 'if-match', 'if-none-match', 'x-amz-checksum-type', 'x-amz-mp-object-size'],
  CopyObject: [
    'if-match',
    'if-none-match',
    'x-amz-checksum-algorithm',
    'x-amz-copy-source',
    'x-amz-copy-source-if-match',
    'x-amz-copy-source-if-modified-since',
    'x-amz-copy-source-if-none-match',
    'x-amz-copy-source-if-unmodified-since',
    'x-amz-metadata-directive',
  ],
  CreateBucket: BODY,
  CreateMultipartUpload: ['x-amz-checksum-algorithm', 'x-amz-checksum-type'],
  DeleteObject: ['if-match', 'x-amz-if-match-last-modified-time', 'x-amz-if-match-size'],
  DeleteObjects: BODY,
  GetObject: READING,
  HeadObject: READING,
  PutObject: [...BODY, 'if-match', 'if-none-match'],
  UploadPart: BODY,
}

/** Access lists that say no more than what always holds here: what is stored belongs to the bucket's owner alone. */
const PRIVATE_ACLS = new Set(['private', 'bucket-owner-read', 'bucket-owner-full-control'])

/**
 * Refuses headers that the operation does not obey, such as a condition or encryption: to ignore them would be a lie.
 *
 * Throws NotImplemented, AccessControlListNotSupported or InvalidStorageClass.
 */
export function checkKnownHeaders(operation: OperationName, headers: RequestHeaders): void {
  const obeyed = OBEYED[operation] ?? []
  for (const name of headers.keys()) {
    if (!STEERING.test(name) || GENERAL.has(name) || obeyed.includes(name)) continue
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
