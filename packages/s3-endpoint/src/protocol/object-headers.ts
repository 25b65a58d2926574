import type { Checksums, ObjectInfo, ObjectMetadata } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { checkHeaderValue, type RequestHeaders } from './headers.ts'
import type { XmlElement } from './xml-writer.ts'

const storedHeaders = ['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'expires']
const userMetadataPrefix = 'x-amz-meta-'
const maxUserMetadataBytes = 2048
/** S3's own answer to an upload that doesn't say what it is. */
const defaultContentType = 'binary/octet-stream'
/** Query parameters of a GET that replace headers of the answer. */
const overrides: readonly [parameter: string, header: string][] = [
  ['response-cache-control', 'cache-control'],
  ['response-content-disposition', 'content-disposition'],
  ['response-content-encoding', 'content-encoding'],
  ['response-content-language', 'content-language'],
  ['response-content-type', 'content-type'],
  ['response-expires', 'expires'],
]

/** Reads what an upload's headers say about the object. Throws MetadataTooLarge over 2 KiB of user metadata. */
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

/** Writes the headers of an answer that shows an object, with the overrides that the query asks for. */
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

/** Writes the checksums of a part as headers. */
export function checksumHeaders(checksums: Checksums): Record<string, string> {
  return Object.fromEntries(Object.entries(checksums).map(([name, value]) => [`x-amz-checksum-${name}`, value]))
}

/** Writes the checksums of an object as headers, with their type. */
export function objectChecksumHeaders({ checksums, checksumType }: ObjectInfo): Record<string, string> {
  if (Object.keys(checksums).length === 0) return {}
  return { ...checksumHeaders(checksums), 'x-amz-checksum-type': checksumType }
}

/** Writes checksums as elements of a document. */
export function checksumElements(checksums: Checksums): XmlElement[] {
  return Object.entries(checksums).map(([name, value]) => [`Checksum${name.toUpperCase()}`, value])
}

/** Writes the checksums of an object as elements of a document, with their type. */
export function objectChecksumElements({ checksums, checksumType }: ObjectInfo): XmlElement[] {
  const elements = checksumElements(checksums)
  return elements.length === 0 ? [] : [...elements, ['ChecksumType', checksumType]]
}

/** Puts an ETag into the quotes that it has on the wire. */
export function quoteEtag(etag: string): string {
  return `"${etag}"`
}

/** Returns the encoding as it was sent, without the framing of the upload: that is no property of the object. */
function storedEncoding(headers: RequestHeaders): string | undefined {
  const encodings = headers.get('content-encoding')?.split(',') ?? []
  return encodings
    .filter((encoding) => encoding.trim() !== 'aws-chunked')
    .join(',')
    .trim()
}
