import type { Checksums, NamedPart, Upload } from '../backend.ts'
import { checksumAlgorithms, isChecksum } from '../body/checksums.ts'
import { S3Error } from '../errors.ts'
import { type Answer, emptyAnswer, xmlAnswer } from '../protocol/answer.ts'
import { parseEtag, readWriteCondition } from '../protocol/conditions.ts'
import type { RequestHeaders } from '../protocol/headers.ts'
import { checksumHeaders, objectChecksumElements, quoteEtag, readMetadata } from '../protocol/object-headers.ts'
import { malformed, type XmlForm, type XmlTexts } from '../protocol/xml-reader.ts'
import { readObjectClaims, readPlan } from './checksum-headers.ts'
import type { OperationContext } from './context.ts'
import { readXmlBody } from './xml-body.ts'

const maxPartNumber = 10_000
/** An ETag of S3 has 32 digits. Other storages may have longer ETags. */
const maxEtagLength = 128

/** Begins a multipart upload. */
export async function createMultipartUpload(context: OperationContext): Promise<Answer> {
  const metadata = readMetadata(context.headers)
  const plan = readPlan(context.headers)
  const uploadId = await context.backend.multipart.create(context, metadata, plan)
  const planned = plan && { 'x-amz-checksum-algorithm': plan.algorithm.toUpperCase(), 'x-amz-checksum-type': plan.type }
  return xmlAnswer(
    'InitiateMultipartUploadResult',
    [
      ['Bucket', context.bucket],
      ['Key', context.key],
      ['UploadId', uploadId],
    ],
    planned,
  )
}

/** Stores one part. */
export async function uploadPart(context: OperationContext): Promise<Answer> {
  const text = context.query.get('partNumber') ?? ''
  const partNumber = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (partNumber < 1 || partNumber > maxPartNumber) {
    throw new S3Error('InvalidArgument', `Part number must be an integer between 1 and ${maxPartNumber}, inclusive`)
  }
  const part = await context.backend.multipart.putPart(context, uploadIdOf(context), partNumber, context.openBody())
  return emptyAnswer(200, { etag: quoteEtag(part.etag), ...checksumHeaders(part.checksums) })
}

/** Makes an object of the parts that the body names. */
export async function completeMultipartUpload(context: OperationContext): Promise<Answer> {
  const condition = readWriteCondition(context.headers)
  const claims = readObjectClaims(context.headers)
  const body = context.openBody(withoutChecksums(context.headers))
  const readParts = () => readNamedParts(body)
  const stored = await context.backend.multipart.complete(context, uploadIdOf(context), readParts, {
    condition,
    claims,
  })
  return xmlAnswer('CompleteMultipartUploadResult', [
    ['Location', `/${context.bucket}/${context.key}`],
    ['Bucket', context.bucket],
    ['Key', context.key],
    ['ETag', quoteEtag(stored.etag)],
    ...objectChecksumElements(stored),
  ])
}

/** Removes a multipart upload and its parts. */
export async function abortMultipartUpload(context: OperationContext): Promise<Answer> {
  await context.backend.multipart.abort(context, uploadIdOf(context))
  return emptyAnswer(204)
}

function uploadIdOf({ query }: OperationContext): string {
  return query.get('uploadId') ?? ''
}

const partChecksumElements = checksumAlgorithms.map(
  (algorithm) => [algorithm, `Checksum${algorithm.toUpperCase()}`] as const,
)

const partsForm: XmlForm<NamedPart> = {
  root: 'CompleteMultipartUpload',
  texts: [],
  items: {
    name: 'Part',
    texts: ['PartNumber', 'ETag', ...partChecksumElements.map(([, element]) => element)],
    max: maxPartNumber,
    read: readPart,
  },
  // A part takes about 170 bytes: its number, its ETag and its longest checksum, in their elements.
  maxBytes: maxPartNumber * 256,
}

async function readNamedParts(body: Upload): Promise<NamedPart[]> {
  const { items: parts } = await readXmlBody(body, partsForm)
  if (parts.length === 0) throw malformed()
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
  for (const [algorithm, element] of partChecksumElements) {
    const value = texts.get(element)?.trim()
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
