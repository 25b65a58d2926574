import type { ChecksumPlan, MultipartBackend, PendingUpload } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { type Answer, xmlAnswer } from '../protocol/answer.ts'
import { type CommonPrefixRequest, commonPrefix } from '../protocol/common-prefix.ts'
import { checksumElements, quoteEtag } from '../protocol/object-headers.ts'
import type { XmlElement } from '../protocol/xml-writer.ts'
import { owner } from './buckets.ts'
import type { OperationContext } from './context.ts'
import { optional, readCount, readKeyEncoding } from './list-objects.ts'

/** Lists the stored parts of a multipart upload. */
export async function listParts(context: OperationContext): Promise<Answer> {
  const { query } = context
  const uploadId = query.get('uploadId') ?? ''
  const limit = readCount(query, 'max-parts')
  const after = readMarker(query)
  const encode = readKeyEncoding(query)
  const request = { after, limit: Math.max(1, limit) }
  const { parts, isTruncated, plan } = await context.backend.multipart.listParts(context, uploadId, request)
  const page = limit === 0 ? [] : parts
  return xmlAnswer('ListPartsResult', [
    ['Bucket', context.bucket],
    ['Key', encode(context.key)],
    ['UploadId', uploadId],
    ['PartNumberMarker', after],
    ['NextPartNumberMarker', page.at(-1)?.partNumber ?? 0],
    ['MaxParts', limit],
    ['IsTruncated', limit > 0 && isTruncated],
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

/** Lists a bucket's pending multipart uploads. */
export async function listMultipartUploads(context: OperationContext): Promise<Answer> {
  const { query } = context
  const request: EntriesRequest = {
    prefix: query.get('prefix') ?? '',
    delimiter: query.get('delimiter') ?? '',
    keyMarker: query.get('key-marker') ?? '',
    idMarker: query.get('upload-id-marker') ?? '',
  }
  const limit = readCount(query, 'max-uploads')
  const encode = readKeyEncoding(query)
  const entries = await findEntries(context, request, limit)
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

/** The number of uploads that are looked up at a time: a page, and one more, which shows that there is a next page. */
const batchSize = 1001

type EntriesRequest = CommonPrefixRequest & { keyMarker: string; idMarker: string }

/** An entry of the listing: an upload, or the common prefix of several uploads' keys if `upload` is undefined. */
type UploadsEntry = { name: string; upload: PendingUpload | undefined }

/** Lists the entries that follow the markers, in order. Stops when there are more than `limit`. */
async function findEntries(
  { backend, bucket }: { backend: { multipart: MultipartBackend }; bucket: string },
  request: EntriesRequest,
  limit: number,
): Promise<UploadsEntry[]> {
  const entries: UploadsEntry[] = []
  let after = { key: request.keyMarker, uploadId: request.idMarker }
  for (;;) {
    const uploads = await backend.multipart.listUploads(bucket, { prefix: request.prefix, after, limit: batchSize })
    for (const upload of uploads) {
      const name = commonPrefix(upload.key, request)
      if (name === undefined) entries.push({ name: upload.key, upload })
      else if (name !== entries.at(-1)?.name && name !== request.keyMarker) entries.push({ name, upload: undefined })
    }
    const last = uploads.at(-1)
    if (last === undefined || uploads.length < batchSize || entries.length > limit) return entries
    after = last
  }
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
      ['Initiator', owner],
      ['Owner', owner],
      ['StorageClass', 'STANDARD'],
      ['Initiated', upload.startedAt.toISOString()],
      ...planElements(upload.plan),
    ],
  ]
}
