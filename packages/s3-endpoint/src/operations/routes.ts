import { checksumAlgorithms } from '../body/checksums.ts'
import { S3Error } from '../errors.ts'
import type { Answer } from '../protocol/answer.ts'
import type { RequestHeaders } from '../protocol/headers.ts'
import { overrideParameters } from '../protocol/object-headers.ts'
import { signatureParameters } from '../signature/query-auth.ts'
import { createBucket, getBucketLocation, headBucket } from './buckets.ts'
import type { OperationContext } from './context.ts'
import { copyObject } from './copy-object.ts'
import { deleteObjects } from './delete-objects.ts'
import { listObjects, listObjectsV2 } from './list-objects.ts'
import { listMultipartUploads, listParts } from './list-uploads.ts'
import { abortMultipartUpload, completeMultipartUpload, createMultipartUpload, uploadPart } from './multipart.ts'
import { deleteObject, getObject, headObject, putObject } from './objects.ts'

/** Headers with checksums of the body, for operations that read a body. */
const bodyHeaders = [...checksumAlgorithms.map((algorithm) => `x-amz-checksum-${algorithm}`), 'x-amz-trailer']
const readHeaders = ['if-match', 'x-amz-checksum-mode']
const listingParameters = ['prefix', 'delimiter', 'encoding-type', 'max-keys']
const uploadsParameters = ['prefix', 'delimiter', 'encoding-type', 'key-marker', 'max-uploads', 'upload-id-marker']

/**
 * The operations, by their names in S3. A request must have the query parameters `required`, and may have those in
 * `optional`. `headers` are the control headers that the operation obeys, including all its conditions.
 *
 * `namesOthers` is true if a request names further objects than the one in its path. A request has x-amz-copy-source if
 * and only if `headers` includes it.
 */
const routes = {
  HeadBucket: { run: headBucket, on: 'HEAD bucket' },
  CreateBucket: { run: createBucket, on: 'PUT bucket' },
  GetBucketLocation: { run: getBucketLocation, on: 'GET bucket', required: ['location'] },
  ListMultipartUploads: {
    run: listMultipartUploads,
    on: 'GET bucket',
    required: ['uploads'],
    optional: uploadsParameters,
  },
  ListObjectsV2: {
    run: listObjectsV2,
    on: 'GET bucket',
    required: ['list-type'],
    optional: [...listingParameters, 'continuation-token', 'fetch-owner', 'start-after'],
  },
  ListObjects: { run: listObjects, on: 'GET bucket', optional: [...listingParameters, 'marker'] },
  DeleteObjects: {
    run: deleteObjects,
    on: 'POST bucket',
    required: ['delete'],
    headers: bodyHeaders,
    namesOthers: true,
  },
  ListParts: {
    run: listParts,
    on: 'GET object',
    required: ['uploadId'],
    optional: ['encoding-type', 'max-parts', 'part-number-marker'],
  },
  GetObject: { run: getObject, on: 'GET object', optional: overrideParameters, headers: readHeaders },
  HeadObject: { run: headObject, on: 'HEAD object', optional: overrideParameters, headers: readHeaders },
  UploadPart: { run: uploadPart, on: 'PUT object', required: ['partNumber', 'uploadId'], headers: bodyHeaders },
  CopyObject: {
    run: copyObject,
    on: 'PUT object',
    headers: ['x-amz-copy-source', 'x-amz-copy-source-if-match', 'x-amz-metadata-directive'],
    namesOthers: true,
  },
  PutObject: { run: putObject, on: 'PUT object', headers: bodyHeaders },
  AbortMultipartUpload: { run: abortMultipartUpload, on: 'DELETE object', required: ['uploadId'] },
  DeleteObject: { run: deleteObject, on: 'DELETE object' },
  CreateMultipartUpload: {
    run: createMultipartUpload,
    on: 'POST object',
    required: ['uploads'],
    headers: ['x-amz-checksum-algorithm', 'x-amz-checksum-type'],
  },
  CompleteMultipartUpload: {
    run: completeMultipartUpload,
    on: 'POST object',
    required: ['uploadId'],
    headers: [...bodyHeaders, 'x-amz-checksum-type', 'x-amz-mp-object-size'],
  },
} as const satisfies Record<string, Omit<Route, 'name'>>

/** The name of an operation that this endpoint implements, as in S3. */
export type OperationName = keyof typeof routes

/** The route to an operation. `run` throws S3Error to refuse a request. */
export interface Route {
  name: OperationName
  run: (context: OperationContext) => Promise<Answer>
  /** The method, and what the path names. */
  on: `${string} ${'bucket' | 'object'}`
  required?: readonly string[]
  optional?: readonly string[]
  headers?: readonly string[]
  namesOthers?: boolean
}

const allRoutes: Route[] = Object.entries(routes).map(([name, route]) => ({ name: name as OperationName, ...route }))

/**
 * Finds the operation of a request. Returns undefined if there is none.
 *
 * A request with an unknown query parameter is another operation: `PUT /b/k?tagging` is not a PutObject.
 */
export function findRoute(
  method: string,
  { bucket, key, query }: Pick<OperationContext, 'bucket' | 'key' | 'query'>,
  headers: RequestHeaders,
): Route | undefined {
  if (bucket === '' || (query.get('list-type') ?? '2') !== '2') return undefined
  const on = `${method} ${key === '' ? 'bucket' : 'object'}`
  const names = [...query.keys()].filter((name) => {
    return !signatureParameters.has(name) && !/^x-amz-[a-z0-9._-]+$/.test(name) && name !== 'x-id'
  })
  return allRoutes.find((route) => {
    const { required = [], optional = [], headers: obeyed = [] } = route
    return (
      route.on === on &&
      obeyed.includes('x-amz-copy-source') === headers.has('x-amz-copy-source') &&
      required.every((name) => names.includes(name)) &&
      names.every((name) => required.includes(name) || optional.includes(name))
    )
  })
}

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

/** Access lists that are accepted. They change nothing, because only the bucket's owner ever has access. */
const privateAcls = new Set(['private', 'bucket-owner-read', 'bucket-owner-full-control'])

/**
 * Refuses headers that the operation does not obey, such as a condition or encryption. Ignoring them would mislead the
 * sender.
 *
 * Throws NotImplemented, AccessControlListNotSupported or InvalidStorageClass.
 */
export function checkKnownHeaders({ headers: obeyed = [] }: Route, headers: RequestHeaders): void {
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
