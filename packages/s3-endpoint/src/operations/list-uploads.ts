import type { ChecksumPlan, MultipartBackend, PendingUpload } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { type Answer, xmlAnswer } from '../protocol/answer.ts'
import { quoteEtag } from '../protocol/etags.ts'
import { commonPrefix } from '../protocol/listing.ts'
import type { XmlElements } from '../protocol/xml.ts'
import { owner } from './buckets.ts'
import type { OperationContext } from './context.ts'
import { readCount, readKeyEncoding } from './list-objects.ts'

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
  return xmlAnswer('ListPartsResult', {
    Bucket: context.bucket,
    Key: encode(context.key),
    UploadId: uploadId,
    PartNumberMarker: after,
    NextPartNumberMarker: page.at(-1)?.partNumber ?? 0,
    MaxParts: limit,
    IsTruncated: limit > 0 && isTruncated,
    Part: page.map(({ partNumber, modifiedAt, etag, size }) => ({
      PartNumber: partNumber,
      LastModified: modifiedAt.toISOString(),
      ETag: quoteEtag(etag),
      Size: size,
    })),
    StorageClass: 'STANDARD',
    ...planElements(plan),
  })
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
  const prefixes = page.filter(({ upload }) => upload === undefined)
  return xmlAnswer('ListMultipartUploadsResult', {
    Bucket: context.bucket,
    KeyMarker: encode(request.keyMarker),
    UploadIdMarker: request.idMarker,
    NextKeyMarker: encode(last?.name ?? ''),
    NextUploadIdMarker: last?.upload?.uploadId ?? '',
    Prefix: encode(request.prefix),
    Delimiter: request.delimiter ? encode(request.delimiter) : undefined,
    EncodingType: query.get('encoding-type') || undefined,
    MaxUploads: limit,
    IsTruncated: limit > 0 && entries.length > page.length,
    Upload: page.map(({ upload }) => upload && uploadElements(upload, encode)),
    CommonPrefixes: prefixes.map(({ name }) => ({ Prefix: encode(name) })),
  })
}

/** The number of uploads that are looked up at a time: a page, and one more, which shows that there is a next page. */
const batchSize = 1001

interface EntriesRequest {
  prefix: string
  delimiter: string
  keyMarker: string
  idMarker: string
}

/** An entry of the listing: an upload, or the common prefix of several uploads' keys if `upload` is undefined. */
interface UploadsEntry {
  name: string
  upload: PendingUpload | undefined
}

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

function planElements(plan: ChecksumPlan | undefined): XmlElements {
  return { ChecksumAlgorithm: plan?.algorithm.toUpperCase(), ChecksumType: plan?.type }
}

function uploadElements(upload: PendingUpload, encode: (key: string) => string): XmlElements {
  return {
    Key: encode(upload.key),
    UploadId: upload.uploadId,
    Initiator: owner,
    Owner: owner,
    StorageClass: 'STANDARD',
    Initiated: upload.startedAt.toISOString(),
    ...planElements(upload.plan),
  }
}
