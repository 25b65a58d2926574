import type { ListPage } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { type Answer, xmlAnswer } from '../protocol/answer.ts'
import { quoteEtag } from '../protocol/etags.ts'
import type { XmlElements } from '../protocol/xml.ts'
import { encodeStrictly } from '../signature/canonical-request.ts'
import { owner } from './buckets.ts'
import type { OperationContext } from './context.ts'

const maxPageKeys = 1000
const emptyPage: ListPage = { objects: [], commonPrefixes: [], next: undefined }

/** Lists a bucket with continuation tokens (ListObjectsV2). */
export async function listObjectsV2(context: OperationContext): Promise<Answer> {
  const { query } = context
  const token = query.get('continuation-token')
  const startAfter = query.get('start-after')
  const request = readRequest(context)
  const page = await listPage(context, request, token === undefined ? (startAfter ?? '') : decodeToken(token))
  return xmlAnswer('ListBucketResult', {
    ...requestElements(context, request),
    KeyCount: page.objects.length + page.commonPrefixes.length,
    ContinuationToken: token || undefined,
    NextContinuationToken: page.next && encodeToken(page.next),
    StartAfter: startAfter ? request.encode(startAfter) : undefined,
    ...pageElements(page, request),
  })
}

/** Lists a bucket with markers (the first version of ListObjects). */
export async function listObjects(context: OperationContext): Promise<Answer> {
  const marker = context.query.get('marker') ?? ''
  const request = readRequest(context)
  const page = await listPage(context, request, marker)
  return xmlAnswer('ListBucketResult', {
    ...requestElements(context, request),
    Marker: request.encode(marker),
    NextMarker: page.next && request.encode(page.next),
    ...pageElements(page, request),
  })
}

/**
 * Reads a count such as max-keys. Returns at most 1,000, which is also the default. Throws InvalidArgument if the count
 * is not a whole number.
 */
export function readCount(query: ReadonlyMap<string, string>, name: string): number {
  const text = query.get(name)
  if (text === undefined || text === '') return maxPageKeys
  if (!/^\d{1,10}$/.test(text)) throw new S3Error('InvalidArgument', `The argument ${name} must be a whole number.`)
  return Math.min(Number(text), maxPageKeys)
}

/**
 * Reads encoding-type. Returns a function that encodes a key for the answer. Throws InvalidArgument if the type is not
 * `url`.
 */
export function readKeyEncoding(query: ReadonlyMap<string, string>): (key: string) => string {
  const type = query.get('encoding-type')
  if (type === undefined || type === '') return (key) => key
  if (type !== 'url') throw new S3Error('InvalidArgument', 'The encoding-type must be url.')
  return (key) => encodeStrictly(key).replaceAll('%2F', '/')
}

interface ListParameters {
  prefix: string
  delimiter: string
  maxKeys: number
  encode: (key: string) => string
}

function readRequest({ query }: OperationContext): ListParameters {
  return {
    prefix: query.get('prefix') ?? '',
    delimiter: query.get('delimiter') ?? '',
    maxKeys: readCount(query, 'max-keys'),
    encode: readKeyEncoding(query),
  }
}

async function listPage(context: OperationContext, request: ListParameters, after: string): Promise<ListPage> {
  const { prefix, delimiter, maxKeys } = request
  const limit = Math.max(1, maxKeys)
  const page = await context.backend.listObjects(context.bucket, { prefix, delimiter, after, limit })
  return maxKeys === 0 ? emptyPage : page
}

function requestElements({ bucket, query }: OperationContext, request: ListParameters): XmlElements {
  const { encode, prefix, delimiter, maxKeys } = request
  return {
    Name: bucket,
    Prefix: encode(prefix),
    Delimiter: delimiter ? encode(delimiter) : undefined,
    EncodingType: query.get('encoding-type') || undefined,
    MaxKeys: maxKeys,
  }
}

function pageElements(page: ListPage, { encode }: ListParameters): XmlElements {
  return {
    IsTruncated: page.next !== undefined,
    Contents: page.objects.map(({ key, modifiedAt, etag, size }) => ({
      Key: encode(key),
      LastModified: modifiedAt.toISOString(),
      ETag: quoteEtag(etag),
      Size: size,
      Owner: owner,
      StorageClass: 'STANDARD',
    })),
    CommonPrefixes: page.commonPrefixes.map((prefix) => ({ Prefix: encode(prefix) })),
  }
}

function encodeToken(next: string): string {
  return Buffer.from(next).toString('base64url')
}

function decodeToken(token: string): string {
  const next = Buffer.from(token, 'base64url').toString()
  if (next === '' || next.includes('\0') || encodeToken(next) !== token) {
    throw new S3Error('InvalidArgument', 'The continuation token provided is incorrect')
  }
  return next
}
