import type { ChecksumPlan, PendingUpload } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { type Answer, xmlAnswer } from '../protocol/answer.ts'
import { type CommonPrefixRequest, commonPrefix } from '../protocol/common-prefix.ts'
import { compareKeys } from '../protocol/key-order.ts'
import { checksumElements, quoteEtag } from '../protocol/object-headers.ts'
import type { XmlElement } from '../protocol/xml-writer.ts'
import { OWNER } from './buckets.ts'
import type { OperationContext } from './context.ts'
import { optional, readCount, readKeyEncoding } from './list-objects.ts'

/** Lists the parts that a multipart upload has so far. */
export async function listParts(context: OperationContext): Promise<Answer> {
  const { query } = context
  const uploadId = query.get('uploadId') ?? ''
  const limit = readCount(query, 'max-parts')
  const after = readMarker(query)
  const encode = readKeyEncoding(query)
  const { parts: all, plan } = await context.backend.multipart.listParts(context, uploadId)
  const parts = all.filter((part) => part.partNumber > after)
  const page = parts.slice(0, limit)
  return xmlAnswer('ListPartsResult', [
    ['Bucket', context.bucket],
    ['Key', encode(context.key)],
    ['UploadId', uploadId],
    ['PartNumberMarker', after],
    ['NextPartNumberMarker', page.at(-1)?.partNumber ?? 0],
    ['MaxParts', limit],
    ['IsTruncated', limit > 0 && parts.length > page.length],
    ...page.map((part): XmlElement => {
      return [
        'Part',
        [
          ['PartNumber', part.partNumber],
          ['LastModified', part.modifiedAt.toISOString()],
          ['ETag', quoteEtag(part.etag)],
          ['Size', part.size],
          ...checksumElements(part.checksums),
        ],
      ]
    }),
    ['StorageClass', 'STANDARD'],
    ...planElements(plan),
  ])
}

function readMarker(query: ReadonlyMap<string, string>): number {
  const text = query.get('part-number-marker') ?? ''
  if (!/^\d{0,10}$/.test(text)) throw new S3Error('InvalidArgument', 'The part-number-marker must be a whole number.')
  return Number(text)
}

/** Lists a bucket's multipart uploads that are still pending. */
export async function listMultipartUploads(context: OperationContext): Promise<Answer> {
  const { query } = context
  const request: UploadsRequest = {
    prefix: query.get('prefix') ?? '',
    delimiter: query.get('delimiter') ?? '',
    keyMarker: query.get('key-marker') ?? '',
    idMarker: query.get('upload-id-marker') ?? '',
  }
  const limit = readCount(query, 'max-uploads')
  const encode = readKeyEncoding(query)
  const uploads = await context.backend.multipart.listUploads(context.bucket, request.prefix)
  const entries = entriesOf(uploads, request)
  const page = entries.slice(0, limit)
  const last = page.at(-1)
  return xmlAnswer('ListMultipartUploadsResult', [
    ['Bucket', context.bucket],
    ['KeyMarker', encode(request.keyMarker)],
    ['UploadIdMarker', request.idMarker],
    ['NextKeyMarker', encode(last?.name ?? '')],
    ['NextUploadIdMarker', last?.upload?.uploadId ?? ''],
    ['Prefix', encode(request.prefix)],
    ...optional('Delimiter', request.delimiter, encode),
    ...optional('EncodingType', query.get('encoding-type')),
    ['MaxUploads', limit],
    ['IsTruncated', limit > 0 && entries.length > page.length],
    ...page.flatMap(({ upload }) => (upload === undefined ? [] : [uploadElement(upload, encode)])),
    ...page.flatMap(({ upload, name }): XmlElement[] => {
      return upload === undefined ? [['CommonPrefixes', [['Prefix', encode(name)]]]] : []
    }),
  ])
}

type UploadsRequest = CommonPrefixRequest & { keyMarker: string; idMarker: string }

/** An entry of the listing: an upload, or without one the common beginning of several uploads' keys. */
type UploadsEntry = { name: string; upload: PendingUpload | undefined }

/** Returns what follows the markers, in order. `uploads` are in the order of their keys, then of their IDs. */
function entriesOf(uploads: PendingUpload[], request: UploadsRequest): UploadsEntry[] {
  const entries: UploadsEntry[] = []
  for (const upload of uploads) {
    if (!isBehind(upload, request)) continue
    const name = commonPrefix(upload.key, request)
    if (name === undefined) entries.push({ name: upload.key, upload })
    else if (name !== entries.at(-1)?.name && name !== request.keyMarker) entries.push({ name, upload: undefined })
  }
  return entries
}

function isBehind(upload: PendingUpload, { keyMarker, idMarker }: UploadsRequest): boolean {
  const order = compareKeys(upload.key, keyMarker)
  return order > 0 || (order === 0 && idMarker !== '' && upload.uploadId > idMarker)
}

function planElements(plan: ChecksumPlan | undefined): XmlElement[] {
  if (plan === undefined) return []
  return [
    ['ChecksumAlgorithm', plan.algorithm.toUpperCase()],
    ['ChecksumType', plan.type],
  ]
}

function uploadElement(upload: PendingUpload, encode: (key: string) => string): XmlElement {
  return [
    'Upload',
    [
      ['Key', encode(upload.key)],
      ['UploadId', upload.uploadId],
      ['Initiator', OWNER],
      ['Owner', OWNER],
      ['StorageClass', 'STANDARD'],
      ['Initiated', upload.startedAt.toISOString()],
      ...planElements(upload.plan),
    ],
  ]
}
