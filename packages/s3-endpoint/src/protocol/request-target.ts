import { S3Error } from '../errors.ts'
import { checkBucketName } from './bucket-names.ts'

/**
 * What a request line names. Bucket and key are empty where there is none.
 *
 * `rawPath` is the path as it came, which the signature covers; `query` maps decoded names to decoded values.
 */
export type RequestTarget = { rawPath: string; query: Map<string, string>; bucket: string; key: string }

const maxKeyBytes = 1024

/**
 * Reads a request line's target: path-style addresses only (`/bucket/key?query`).
 *
 * The path is never normalised: `..`, double slashes and doubly encoded characters are parts of a key like any other.
 * Throws InvalidURI, InvalidBucketName, KeyTooLongError or InvalidArgument.
 */
export function parseRequestTarget(url: string): RequestTarget {
  if (!url.startsWith('/')) throw new S3Error('InvalidURI', 'The request target must be a path.')
  const mark = url.indexOf('?')
  const rawPath = mark < 0 ? url : url.slice(0, mark)
  const query = parseQuery(mark < 0 ? '' : url.slice(mark + 1))
  const slash = rawPath.indexOf('/', 1)
  const rawBucket = slash < 0 ? rawPath.slice(1) : rawPath.slice(1, slash)
  const rawKey = slash < 0 ? '' : rawPath.slice(slash + 1)
  if (rawBucket === '') {
    if (rawKey !== '') throw new S3Error('InvalidBucketName', 'The bucket name is empty.')
    return { rawPath, query, bucket: '', key: '' }
  }
  const key = decodePercent(rawKey)
  if (key !== '') checkKey(key)
  return { rawPath, query, bucket: checkBucketName(decodePercent(rawBucket)), key }
}

/** Checks an object's key. Throws KeyTooLongError over 1024 bytes, and InvalidArgument for NUL or an empty key. */
export function checkKey(key: string): void {
  if (key === '') throw new S3Error('InvalidArgument', 'A key must not be empty.')
  if (Buffer.byteLength(key) > maxKeyBytes) {
    throw new S3Error('KeyTooLongError', 'Your key is too long.', { fields: { MaxSizeAllowed: String(maxKeyBytes) } })
  }
  if (key.includes('\0')) throw new S3Error('InvalidArgument', 'A key must not contain NUL.')
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes `%XX` once. Throws InvalidURI where an escape is broken or the bytes are not UTF-8. */
export function decodePercent(text: string): string {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) throw new S3Error('InvalidURI', 'A percent escape of the URI is broken.')
  const bytes: number[] = []
  // The server reads a request line as Latin-1, so that each character that is no escape stands for one byte.
  for (const [part] of text.matchAll(/%..|[^%]/gsu)) {
    bytes.push(part.length === 3 ? Number.parseInt(part.slice(1), 16) : part.charCodeAt(0) & 0xff)
  }
  try {
    return utf8.decode(Uint8Array.from(bytes))
  } catch {
    throw new S3Error('InvalidURI', 'The URI is not valid UTF-8.')
  }
}

function parseQuery(text: string): Map<string, string> {
  const query = new Map<string, string>()
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeQueryPart(equals < 0 ? pair : pair.slice(0, equals))
    // With two values of one name it would be unclear which of them was authorised.
    if (query.has(name)) throw new S3Error('InvalidArgument', `The query parameter ${name} occurs twice.`)
    query.set(name, equals < 0 ? '' : decodeQueryPart(pair.slice(equals + 1)))
  }
  return query
}

/** Throws InvalidArgument for NUL: no name or value of S3 has it, and Postgres refuses a text with it. */
function decodeQueryPart(text: string): string {
  const decoded = decodePercent(text.replaceAll('+', ' '))
  if (decoded.includes('\0')) throw new S3Error('InvalidArgument', 'A query parameter must not contain NUL.')
  return decoded
}
