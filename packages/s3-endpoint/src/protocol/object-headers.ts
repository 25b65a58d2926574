import type { Checksums, ObjectInfo, ObjectMetadata } from '../backend.ts'
import { S3Error } from '../errors.ts'
import { quoteEtag } from './etags.ts'
import { checkHeaderValue, type RequestHeaders } from './headers.ts'

const userMetadataPrefix = 'x-amz-meta-'
const maxUserMetadataBytes = 2048
/** The type that S3 gives an upload without a content type. */
const defaultContentType = 'binary/octet-stream'
/** The headers of an answer to a GET that a query parameter `response-…` replaces. */
const overrides = ['content-disposition', 'content-type']

/** The query parameters of a GET that replace headers of the answer. */
export const overrideParameters = overrides.map((header) => `response-${header}`)

/** Reads an object's metadata from an upload's headers. Throws MetadataTooLarge if the user metadata exceeds 2 KiB. */
export function readMetadata(headers: RequestHeaders): ObjectMetadata {
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
  return { contentType: headers.get('content-type') || defaultContentType, user }
}

/** Makes the headers of an answer that shows an object, with the overrides of the query. */
export function objectHeaders(info: ObjectInfo, query: ReadonlyMap<string, string>): Record<string, string> {
  const headers: Record<string, string> = {
    'accept-ranges': 'bytes',
    etag: quoteEtag(info.etag),
    'last-modified': info.modifiedAt.toUTCString(),
    'content-type': info.metadata.contentType,
  }
  for (const [name, value] of Object.entries(info.metadata.user)) headers[userMetadataPrefix + name] = value
  for (const header of overrides) {
    const value = query.get(`response-${header}`)
    if (value === undefined) continue
    checkHeaderValue(`response-${header}`, value)
    headers[header] = value
  }
  return headers
}

/** Makes headers of the checksums of an upload's bytes. */
export function checksumHeaders(checksums: Checksums): Record<string, string> {
  return Object.fromEntries(Object.entries(checksums).map(([name, value]) => [`x-amz-checksum-${name}`, value]))
}
