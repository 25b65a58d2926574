import { signatureParameters } from '../signature/query-auth.ts'
import { createBucket, getBucketLocation, headBucket, listBuckets } from './buckets.ts'
import type { Operation, OperationName } from './context.ts'
import { copyObject } from './copy-object.ts'
import { deleteObjects } from './delete-objects.ts'
import { deleteObject, getObject, headObject } from './get-object.ts'
import { listObjects, listObjectsV2 } from './list-objects.ts'
import { listMultipartUploads, listParts } from './list-uploads.ts'
import { abortMultipartUpload, completeMultipartUpload, createMultipartUpload, uploadPart } from './multipart.ts'
import { putObject } from './put-object.ts'

/**
 * The route to an operation. A request must have the query parameters `required`, and may have those in `optional`.
 *
 * `isCopy` is true if a request for the operation has x-amz-copy-source.
 */
type Route = {
  name: OperationName
  run: Operation
  method: string
  level: 'service' | 'bucket' | 'object'
  required: string[]
  optional: string[]
  isCopy: boolean
}

const listingParameters = ['prefix', 'delimiter', 'encoding-type', 'max-keys']
const overrideParameters = [
  'response-cache-control',
  'response-content-disposition',
  'response-content-encoding',
  'response-content-language',
  'response-content-type',
  'response-expires',
]

const routes: Route[] = [
  route('ListBuckets', listBuckets, 'GET', 'service'),
  route('HeadBucket', headBucket, 'HEAD', 'bucket'),
  route('CreateBucket', createBucket, 'PUT', 'bucket'),
  route('GetBucketLocation', getBucketLocation, 'GET', 'bucket', ['location']),
  route(
    'ListMultipartUploads',
    listMultipartUploads,
    'GET',
    'bucket',
    ['uploads'],
    ['prefix', 'delimiter', 'encoding-type', 'key-marker', 'max-uploads', 'upload-id-marker'],
  ),
  route(
    'ListObjectsV2',
    listObjectsV2,
    'GET',
    'bucket',
    ['list-type'],
    [...listingParameters, 'continuation-token', 'fetch-owner', 'start-after'],
  ),
  route('ListObjects', listObjects, 'GET', 'bucket', [], [...listingParameters, 'marker']),
  route('DeleteObjects', deleteObjects, 'POST', 'bucket', ['delete']),
  route('ListParts', listParts, 'GET', 'object', ['uploadId'], ['encoding-type', 'max-parts', 'part-number-marker']),
  route('GetObject', getObject, 'GET', 'object', [], overrideParameters),
  route('HeadObject', headObject, 'HEAD', 'object', [], overrideParameters),
  route('UploadPart', uploadPart, 'PUT', 'object', ['partNumber', 'uploadId']),
  { ...route('CopyObject', copyObject, 'PUT', 'object'), isCopy: true },
  route('PutObject', putObject, 'PUT', 'object'),
  route('AbortMultipartUpload', abortMultipartUpload, 'DELETE', 'object', ['uploadId']),
  route('DeleteObject', deleteObject, 'DELETE', 'object'),
  route('CreateMultipartUpload', createMultipartUpload, 'POST', 'object', ['uploads']),
  route('CompleteMultipartUpload', completeMultipartUpload, 'POST', 'object', ['uploadId']),
]

/** The properties of a request that determine its route. */
export type RoutedRequest = {
  method: string
  bucket: string
  key: string
  query: ReadonlyMap<string, string>
  isCopy: boolean
}

/**
 * Finds the operation of a request. Returns undefined if the table has no such operation.
 *
 * A request with an unknown query parameter is another operation: `PUT /b/k?tagging` is not a PutObject.
 */
export function findRoute(request: RoutedRequest): { name: OperationName; run: Operation } | undefined {
  const level = request.key !== '' ? 'object' : request.bucket !== '' ? 'bucket' : 'service'
  const names = [...request.query.keys()].filter((name) => {
    return !signatureParameters.has(name) && !/^x-amz-[a-z0-9._-]+$/.test(name) && name !== 'x-id'
  })
  const found = routes.find((candidate) => {
    return (
      candidate.method === request.method &&
      candidate.level === level &&
      candidate.isCopy === request.isCopy &&
      candidate.required.every((name) => names.includes(name)) &&
      names.every((name) => candidate.required.includes(name) || candidate.optional.includes(name))
    )
  })
  return (request.query.get('list-type') ?? '2') === '2' ? found : undefined
}

function route(
  name: OperationName,
  run: Operation,
  method: string,
  level: Route['level'],
  required: string[] = [],
  optional: string[] = [],
): Route {
  return { name, run, method, level, required, optional, isCopy: false }
}
