import type { Checksums, ObjectInfo, ObjectMetadata } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { checkHeaderValue, type RequestHeaders } from './headers.ts'
import type { XmlElement } from './xml-writer.ts'

const storedHeaders = ['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'expires']
const userMetadataPrefix = 'x-amz-meta-'
const maxUserMetadataBytes = 2048
/** The type that S3 gives an upload without a content type. */
const defaultContentType = 'binary/octet-stream'
/** The query parameters of a GET that replace headers of the answer. */
const overrides: readonly [parameter: string, header: string][] = [
  ['response-cache-control', 'cache-control'],
  ['response-content-disposition', 'content-disposition'],
  ['response-content-encoding', 'content-encoding'],
  ['response-content-language', 'content-language'],
  ['response-content-type', 'content-type'],
  ['response-expires', 'expires'],
]

/** Reads an object's metadata from an upload's headers. Throws MetadataTooLarge if the user metadata exceeds 2 KiB. */
export function readMetadata(headers: RequestHeaders): ObjectMetadata {
  const stored: Record<string, string> = {}
  for (const name of storedHeaders) {
    const value = name === 'content-encoding' ? storedEncoding(headers) : headers.get(name)
    if (value !== undefined && value !== '') stored[name] = value
  }
  const user: Record<string, string> = {}
  let userBytes = 0
  for (const [name, value] of headers) {
    if (!name.startsWith(userMetadataPrefix)) continue
    user[name.slice(userMetadataPrefix.length)] = value
    userBytes += name.length - userMetadataPrefix.length + value.length
  }
  if (userBytes > maxUserMetadataBytes) {
    throw new S3Error('MetadataTooLarge', 'Your metadata headers exceed the maximum allowed metadata size.')
  }
  return { contentType: headers.get('content-type') || defaultContentType, headers: stored, user }
}

/** Makes the headers of an answer that shows an object, with the overrides of the query. */
export function objectHeaders(info: ObjectInfo, query: ReadonlyMap<string, string>): Record<string, string> {
  const headers: Record<string, string> = {
    'accept-ranges': 'bytes',
    etag: quoteEtag(info.etag),
    'last-modified': info.modifiedAt.toUTCString(),
    'content-type': info.metadata.contentType,
    ...info.metadata.headers,
  }
  for (const [name, value] of Object.entries(info.metadata.user)) headers[userMetadataPrefix + name] = value
  for (const [parameter, header] of overrides) {
    const value = query.get(parameter)
    if (value === undefined) continue
    checkHeaderValue(parameter, value)
    headers[header] = value
  }
  return headers
}

/** Makes headers of a part's checksums. */
export function checksumHeaders(checksums: Checksums): Record<string, string> {
  return Object.fromEntries(Object.entries(checksums).map(([name, value]) => [`x-amz-checksum-${name}`, value]))
}

/** Makes headers of an object's checksums and their type. */
export function objectChecksumHeaders({ checksums, checksumType }: ObjectInfo): Record<string, string> {
  if (Object.keys(checksums).length === 0) return {}
  return { ...checksumHeaders(checksums), 'x-amz-checksum-type': checksumType }
}

/** Makes XML elements of checksums. */
export function checksumElements(checksums: Checksums): XmlElement[] {
  return Object.entries(checksums).map(([name, value]) => [`Checksum${name.toUpperCase()}`, value])
}

/** Makes XML elements of an object's checksums and their type. */
export function objectChecksumElements({ checksums, checksumType }: ObjectInfo): XmlElement[] {
  const elements = checksumElements(checksums)
  return elements.length === 0 ? [] : [...elements, ['ChecksumType', checksumType]]
}

/** Adds the quotes that an ETag has on the wire. */
export function quoteEtag(etag: string): string {
  return `"${etag}"`
}

/** Returns the encoding as it was sent, without the framing of the upload, which is not a property of the object. */
function storedEncoding(headers: RequestHeaders): string | undefined {
  const encodings = headers.get('content-encoding')?.split(',') ?? []
  return encodings
    .filter((encoding) => encoding.trim() !== 'aws-chunked')
    .join(',')
    .trim()
}
