import { S3Error } from '../errors.ts'

/** A request's headers. Names are in lower case. Values of one name are joined by commas, as in the signature. */
export type RequestHeaders = ReadonlyMap<string, string>

/**
 * Headers that must not be repeated. Otherwise, the meaning of a request would depend on which header a reader uses.
 */
const singleHeaders = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'host',
  'range',
  'transfer-encoding',
])

/**
 * Reads a request's headers from Node's raw list (name, value, name, value …).
 *
 * Throws InvalidRequest if a header that must not be repeated occurs twice. As in S3, `x-amz-meta-…` may be repeated.
 * Throws InvalidArgument if a value cannot be sent as a header, or if metadata is not ASCII.
 */
export function parseHeaders(rawHeaders: string[]): RequestHeaders {
  const headers = new Map<string, string>()
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase()
    const value = (rawHeaders[index + 1] ?? '').trim()
    const earlier = headers.get(name)
    if (earlier !== undefined && isSingle(name)) {
      throw new S3Error('InvalidRequest', `The header ${name} occurs twice.`)
    }
    checkHeaderValue(name, value)
    // S3 wants ASCII, too. Clients sign other characters in UTF-8, and some send them in another encoding.
    if (isMetadata(name) && /[^\t\x20-\x7e]/.test(value)) {
      throw new S3Error('InvalidArgument', `The value of ${name} must be ASCII.`)
    }
    headers.set(name, earlier === undefined ? value : `${earlier},${value}`)
  }
  return headers
}

/**
 * Throws InvalidArgument if a value cannot be sent as a header. With line breaks, the value could add headers to an
 * answer.
 */
export function checkHeaderValue(name: string, value: string): void {
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
    throw new S3Error('InvalidArgument', `The value of ${name} cannot be sent as a header.`)
  }
}

function isMetadata(name: string): boolean {
  return name === 'content-type' || name.startsWith('x-amz-meta-')
}

function isSingle(name: string): boolean {
  return singleHeaders.has(name) || (name.startsWith('x-amz-') && !name.startsWith('x-amz-meta-'))
}
