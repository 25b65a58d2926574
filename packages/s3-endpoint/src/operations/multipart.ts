import type { Checksums, NamedPart, Upload } from '../backend.ts'
import { checksumAlgorithms, isChecksum } from '../body/checksums.ts'
import { readDeclaredObject, readPlan } from '../body/object-checksum.ts'
import { S3Error } from '../errors.ts'
import { type Answer, emptyAnswer, xmlAnswer } from '../protocol/answer.ts'
import { parseEtag, quoteEtag } from '../protocol/etags.ts'
import type { RequestHeaders } from '../protocol/headers.ts'
import { checksumHeaders, readMetadata } from '../protocol/object-headers.ts'
import { malformed, readXmlBody, type XmlTexts } from '../protocol/xml.ts'
import type { OperationContext } from './context.ts'

const maxPartNumber = 10_000
/** An ETag of S3 has 32 digits. Other storages may have longer ETags. */
const maxEtagLength = 128

export async function createMultipartUpload({ backend, bucket, key, headers }: OperationContext): Promise<Answer> {
  const metadata = readMetadata(headers)
  const plan = readPlan(headers)
  const uploadId = await backend.multipart.create({ bucket, key }, metadata, plan)
  const planned = plan && { 'x-amz-checksum-algorithm': plan.algorithm.toUpperCase(), 'x-amz-checksum-type': plan.type }
  return xmlAnswer('InitiateMultipartUploadResult', { Bucket: bucket, Key: key, UploadId: uploadId }, planned)
}

export async function uploadPart(context: OperationContext): Promise<Answer> {
  const text = context.query.get('partNumber') ?? ''
  const partNumber = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (partNumber < 1 || partNumber > maxPartNumber) {
    throw new S3Error('InvalidArgument', `Part number must be an integer between 1 and ${maxPartNumber}, inclusive`)
  }
  const body = context.openBody()
  const etag = await context.backend.multipart.putPart(context, uploadIdOf(context), partNumber, body)
  return emptyAnswer(200, { etag: quoteEtag(etag), ...checksumHeaders(body.digests().checksums) })
}

/** Makes an object of the parts that the body names. */
export async function completeMultipartUpload(context: OperationContext): Promise<Answer> {
  const { backend, bucket, key, headers } = context
  const object = readDeclaredObject(headers)
  const body = context.openBody(withoutChecksums(headers))
  const declared = { ...object, accessKeyId: body.accessKeyId }
  const readParts = () => readNamedParts(body, backend.multipart.maxParts)
  const etag = await backend.multipart.complete(context, uploadIdOf(context), readParts, declared)
  const location = `/${bucket}/${key}`
  return xmlAnswer('CompleteMultipartUploadResult', {
    Location: location,
    Bucket: bucket,
    Key: key,
    ETag: quoteEtag(etag),
  })
}

export async function abortMultipartUpload(context: OperationContext): Promise<Answer> {
  await context.backend.multipart.abort(context, uploadIdOf(context))
  return emptyAnswer(204)
}

function uploadIdOf({ query }: OperationContext): string {
  return query.get('uploadId') ?? ''
}

const checksumElement = (algorithm: string) => `Checksum${algorithm.toUpperCase()}`

async function readNamedParts(body: Upload, maxParts: number): Promise<NamedPart[]> {
  const { items } = await readXmlBody(body, {
    root: 'CompleteMultipartUpload',
    texts: [],
    item: 'Part',
    itemTexts: ['PartNumber', 'ETag', ...checksumAlgorithms.map(checksumElement)],
    maxItems: maxParts,
    // A part takes about 170 bytes: its number, its ETag and its longest checksum, in their elements.
    maxBytes: maxParts * 256,
  })
  if (items.length === 0) throw malformed()
  const parts = items.map(readPart)
  for (const [index, part] of parts.entries()) {
    if (part.partNumber <= (parts[index - 1]?.partNumber ?? 0)) {
      throw new S3Error('InvalidPartOrder', 'The list of parts was not in ascending order.')
    }
  }
  return parts
}

function readPart(texts: XmlTexts): NamedPart {
  const number = texts.get('PartNumber')?.trim() ?? ''
  const etag = texts.get('ETag')
  if (!/^\d{1,5}$/.test(number) || etag === undefined || etag.length > maxEtagLength) throw malformed()
  const checksums: Checksums = {}
  for (const algorithm of checksumAlgorithms) {
    const value = texts.get(checksumElement(algorithm))?.trim()
    if (value === undefined) continue
    if (!isChecksum(algorithm, value)) throw malformed()
    checksums[algorithm] = value
  }
  return { partNumber: Number(number), etag: parseEtag(etag), checksums }
}

/** Removes the checksum headers. In CompleteMultipartUpload, they describe the object to be made and not the body. */
function withoutChecksums(headers: RequestHeaders): RequestHeaders {
  return new Map([...headers].filter(([name]) => !name.startsWith('x-amz-checksum-')))
}
