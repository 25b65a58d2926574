import { S3Error } from '../errors.ts'

/** A request's headers: names in lower case; the values of one name joined by commas, as the signature counts them. */
export type RequestHeaders = ReadonlyMap<string, string>

/** Headers that steer a request and mean nothing when repeated: which of them counts must not depend on the reader. */
const singleHeaders = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'host',
  'if-modified-since',
  'if-range',
  'if-unmodified-since',
  'range',
  'transfer-encoding',
])

/**
 * Reads a request's headers from Node's raw list (name, value, name, value …).
 *
 * Throws InvalidRequest where a header is repeated that has to be single; `x-amz-meta-…` may be repeated as in S3.
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
    headers.set(name, earlier === undefined ? value : `${earlier},${value}`)
  }
  return headers
}

/**
 * Throws InvalidArgument where a value cannot be sent as a header: line breaks in it would let its author write further
 * headers of an answer.
 */
export function checkHeaderValue(name: string, value: string): void {
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
    throw new S3Error('InvalidArgument', `The value of ${name} cannot be sent as a header.`)
  }
}

function isSingle(name: string): boolean {
  return singleHeaders.has(name) || (name.startsWith('x-amz-') && !name.startsWith('x-amz-meta-'))
}
