import { S3Error } from '../errors.ts'
import { type Answer, emptyAnswer } from './answer.ts'
import type { RequestHeaders } from './headers.ts'

const allowedMethods = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE']
const exposedHeaders = 'ETag, Content-Range, x-amz-request-id'
const maxAgeS = 3000

/**
 * Answers a browser's preflight request, which has no signature.
 *
 * Throws AccessForbidden unless the origin is one of `origins` (exact, such as `https://dashboard.example.com`).
 */
export function answerPreflight(headers: RequestHeaders, origins: readonly string[]): Answer {
  const allowed = corsHeaders(headers, origins)
  const method = headers.get('access-control-request-method') ?? ''
  const wanted = headers.get('access-control-request-headers') ?? ''
  const isToken = /^[A-Za-z0-9!#$%&'*+.^_`|~, -]*$/.test(wanted)
  if (allowed['access-control-allow-origin'] === undefined || !allowedMethods.includes(method) || !isToken) {
    throw new S3Error('AccessForbidden', 'CORSResponse: This CORS request is not allowed.')
  }
  return emptyAnswer(200, {
    ...allowed,
    'access-control-allow-methods': allowedMethods.join(', '),
    ...(wanted === '' ? {} : { 'access-control-allow-headers': wanted }),
    'access-control-max-age': String(maxAgeS),
  })
}

/**
 * Returns the headers that allow a page to read an answer. Returns none if the request is not from an allowed origin.
 */
export function corsHeaders(headers: RequestHeaders, origins: readonly string[]): Record<string, string> {
  const origin = headers.get('origin')
  if (origin === undefined || !origins.includes(origin)) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': exposedHeaders,
    vary: 'Origin, Access-Control-Request-Headers, Access-Control-Request-Method',
  }
}
