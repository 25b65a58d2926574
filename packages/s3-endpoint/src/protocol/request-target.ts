import { S3Error } from '../errors.ts'

/**
 * The target of a request. Bucket and key are empty if the request names none.
 *
 * `rawPath` is the unchanged path, which the signature covers. `query` maps decoded names to decoded values.
 */
export interface RequestTarget {
  rawPath: string
  query: Map<string, string>
  bucket: string
  key: string
}

const maxKeyBytes = 1024

/**
 * Parses the target of a request line. It must be a path-style address (`/bucket/key?query`).
 *
 * The path is never normalised: a key may contain `..`, double slashes and doubly encoded characters. Throws
 * InvalidURI, InvalidBucketName, KeyTooLongError or InvalidArgument.
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

/** Checks the name of a bucket. Returns the name. Throws InvalidBucketName if no bucket can have it. */
export function checkBucketName(name: string): string {
  if (/^[a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9]$/.test(name)) return name
  throw new S3Error('InvalidBucketName', 'The specified bucket is not valid.', { fields: { BucketName: name } })
}

/** Checks an object's key. Throws KeyTooLongError above 1,024 bytes, and InvalidArgument if it is empty or has NUL. */
export function checkKey(key: string): void {
  if (key === '') throw new S3Error('InvalidArgument', 'A key must not be empty.')
  if (Buffer.byteLength(key) > maxKeyBytes) {
    throw new S3Error('KeyTooLongError', 'Your key is too long.', { fields: { MaxSizeAllowed: String(maxKeyBytes) } })
  }
  if (key.includes('\0')) throw new S3Error('InvalidArgument', 'A key must not contain NUL.')
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes `%XX` once. Throws InvalidURI if an escape is broken or the bytes are not UTF-8. */
export function decodePercent(text: string): string {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) throw new S3Error('InvalidURI', 'A percent escape of the URI is broken.')
  const bytes: number[] = []
  // The server reads a request line as Latin-1, so each character that is not part of an escape is one byte.
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
    // With two values of one name, it would be unclear which value was authorised.
    if (query.has(name)) throw new S3Error('InvalidArgument', `The query parameter ${name} occurs twice.`)
    query.set(name, equals < 0 ? '' : decodeQueryPart(pair.slice(equals + 1)))
  }
  return query
}

/** Decodes a name or a value. Throws InvalidArgument for NUL, which S3 never uses and Postgres refuses in texts. */
function decodeQueryPart(text: string): string {
  const decoded = decodePercent(text.replaceAll('+', ' '))
  if (decoded.includes('\0')) throw new S3Error('InvalidArgument', 'A query parameter must not contain NUL.')
  return decoded
}
