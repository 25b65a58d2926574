import { checksumAlgorithms } from '../body/checksums.ts'
import { S3Error } from '../errors.ts'
import type { RequestHeaders } from '../protocol/headers.ts'
import type { OperationName } from './context.ts'

/** Headers that affect a request: the headers of the S3 protocol, and all conditions, whatever their prefix. */
const controlHeader = /^x-amz-(?!meta-)|(?:^|-)if-/

/**
 * Headers that every operation accepts. They describe the request and its body, or their accepted values change
 * nothing.
 */
const generalHeaders = new Set([
  'x-amz-acl',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-decoded-content-length',
  'x-amz-sdk-checksum-algorithm',
  'x-amz-storage-class',
  'x-amz-user-agent',
])

/** Headers with checksums of the body, for operations that read a body. */
const bodyHeaders = [...checksumAlgorithms.map((algorithm) => `x-amz-checksum-${algorithm}`), 'x-amz-trailer']

const readHeaders = [
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'x-amz-checksum-mode',
]

/** Additional headers that an operation obeys, including all its conditions. */
const obeyedHeaders: Partial<Record<OperationName, readonly string[]>> = {
  CompleteMultipartUpload: [...bodyHeaders, 'if-match', 'if-none-match', 'x-amz-checksum-type', 'x-amz-mp-object-size'],
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
  CreateBucket: bodyHeaders,
  CreateMultipartUpload: ['x-amz-checksum-algorithm', 'x-amz-checksum-type'],
  DeleteObject: ['if-match', 'x-amz-if-match-last-modified-time', 'x-amz-if-match-size'],
  DeleteObjects: bodyHeaders,
  GetObject: readHeaders,
  HeadObject: readHeaders,
  PutObject: [...bodyHeaders, 'if-match', 'if-none-match'],
  UploadPart: bodyHeaders,
}

/** Access lists that are accepted. They change nothing, because only the bucket's owner ever has access. */
const privateAcls = new Set(['private', 'bucket-owner-read', 'bucket-owner-full-control'])

/**
 * Refuses headers that the operation does not obey, such as a condition or encryption. Ignoring them would mislead the
 * sender.
 *
 * Throws NotImplemented, AccessControlListNotSupported or InvalidStorageClass.
 */
export function checkKnownHeaders(operation: OperationName, headers: RequestHeaders): void {
  const obeyed = obeyedHeaders[operation] ?? []
  for (const name of headers.keys()) {
    if (!controlHeader.test(name) || generalHeaders.has(name) || obeyed.includes(name)) continue
    throw new S3Error('NotImplemented', 'A header you provided implies functionality that is not implemented.', {
      fields: { Header: name },
    })
  }
  if (!privateAcls.has(headers.get('x-amz-acl') ?? 'private')) {
    throw new S3Error('AccessControlListNotSupported', 'The bucket does not allow ACLs')
  }
  if ((headers.get('x-amz-storage-class') ?? 'STANDARD') !== 'STANDARD') {
    throw new S3Error('InvalidStorageClass', 'The storage class you specified is not valid.')
  }
}
