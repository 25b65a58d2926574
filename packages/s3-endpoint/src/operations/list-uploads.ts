import type { PendingUpload } from '../backend.ts'
import { type Answer, xmlAnswer } from '../protocol/answer.ts'
import { compareKeys } from '../protocol/key-order.ts'
import { quoteEtag } from '../protocol/object-headers.ts'
import type { XmlElement } from '../protocol/xml-writer.ts'
import type { OperationContext } from './context.ts'
import { readCount, readKeyEncoding } from './list-objects.ts'

/** Lists the parts that a multipart upload has so far. */
export async function listParts(context: OperationContext): Promise<Answer> {
  const { query } = context
  const uploadId = query.get('uploadId') ?? ''
  const limit = readCount(query, 'max-parts')
  const after = Number(query.get('part-number-marker') ?? 0)
  const encode = readKeyEncoding(query)
  const parts = (await context.backend.multipart.listParts(context, uploadId)).filter((part) => part.partNumber > after)
  const page = parts.slice(0, limit)
  return xmlAnswer('ListPartsResult', [
    ['Bucket', context.bucket],
    ['Key', encode(context.key)],
    ['UploadId', uploadId],
    ['PartNumberMarker', after],
    ['NextPartNumberMarker', page.at(-1)?.partNumber ?? 0],
    ['MaxParts', limit],
    ['IsTruncated', parts.length > page.length],
    ...page.map((part): XmlElement => {
      return [
        'Part',
        [
          ['PartNumber', part.partNumber],
          ['LastModified', part.modifiedAt.toISOString()],
          ['ETag', quoteEtag(part.etag)],
          ['Size', part.size],
        ],
      ]
    }),
    ['StorageClass', 'STANDARD'],
  ])
}

/** Lists a bucket's multipart uploads that are still pending. */
export async function listMultipartUploads(context: OperationContext): Promise<Answer> {
  const { query } = context
  const prefix = query.get('prefix') ?? ''
  const keyMarker = query.get('key-marker') ?? ''
  const idMarker = query.get('upload-id-marker') ?? ''
  const limit = readCount(query, 'max-uploads')
  const encode = readKeyEncoding(query)
  const uploads = (await context.backend.multipart.listUploads(context.bucket, prefix)).filter((upload) => {
    return isBehind(upload, keyMarker, idMarker)
  })
  const page = uploads.slice(0, limit)
  const last = page.at(-1)
  return xmlAnswer('ListMultipartUploadsResult', [
    ['Bucket', context.bucket],
    ['KeyMarker', encode(keyMarker)],
    ['UploadIdMarker', idMarker],
    ['NextKeyMarker', encode(last?.key ?? '')],
    ['NextUploadIdMarker', last?.uploadId ?? ''],
    ['Prefix', encode(prefix)],
    ['MaxUploads', limit],
    ['IsTruncated', uploads.length > page.length],
    ...page.map((upload): XmlElement => {
      return [
        'Upload',
        [
          ['Key', encode(upload.key)],
          ['UploadId', upload.uploadId],
          ['Initiated', upload.startedAt.toISOString()],
          ['StorageClass', 'STANDARD'],
        ],
      ]
    }),
  ])
}

function isBehind(upload: PendingUpload, keyMarker: string, idMarker: string): boolean {
  const order = compareKeys(upload.key, keyMarker)
  return order > 0 || (order === 0 && idMarker !== '' && upload.uploadId > idMarker)
}
