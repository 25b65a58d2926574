import { type ErrorAnswer, errors, type TextAnswer, tooManyValues } from '../errors.ts'
import { limits } from '../limits.ts'
import type { Content, Header, JsonSchema, Response } from './document-types.ts'
import { schemaRef } from './schemas.ts'

const wholeNumber: JsonSchema = { type: 'integer', minimum: 0 }

const requestId: Record<string, Header> = {
  'X-Request-Id': {
    description: 'ID of the request in the log of the service. Quote it when you report a problem.',
    schema: { type: 'string', format: 'uuid' },
    required: true,
  },
}

/** Headers of every answer after successful authentication. */
const rateHeaders: Record<string, Header> = {
  'X-RateLimit-Limit': { description: 'Maximum number of requests in one window.', schema: wholeNumber },
  'X-RateLimit-Remaining': { description: 'Requests left in this window.', schema: wholeNumber },
  'X-RateLimit-Reset': { description: 'End of the window, UTC in epoch seconds.', schema: wholeNumber },
}

const retryAfter: Record<string, Header> = {
  'Retry-After': { description: 'Seconds to wait before the next request.', schema: wholeNumber, required: true },
}

const challenge: Record<string, Header> = {
  'WWW-Authenticate': { description: 'Names the missing header.', schema: { type: 'string' }, required: true },
}

/** An error answer of an endpoint, for the document. */
export interface ErrorCase {
  /** Short name of the example. */
  name: string
  /** The condition of the answer. */
  when: string
  answer: ErrorAnswer | TextAnswer
}

const errorCase = (name: string, when: string, answer: ErrorCase['answer']): ErrorCase => ({ name, when, answer })

/** Errors of any request before it is processed. */
const anyRequest = [
  errorCase('not_http', 'The request is not valid HTTP.', errors.malformedRequest()),
  errorCase('too_slow', 'The request did not arrive in time.', errors.requestTimeout()),
  errorCase('large_headers', 'The request line and headers are over 16 KiB.', errors.headersTooLarge()),
  errorCase('our_fault', 'The service failed. The request can be sent again.', errors.internal()),
]

/** Errors of every endpoint with a token, besides its own errors. */
const anyToken = [
  errorCase('no_token', 'The header X-Service-Token is missing.', errors.unauthorized()),
  errorCase('invalid_token', 'The token is invalid or was replaced.', errors.forbidden()),
  errorCase('too_many', 'The limit of the window is used up.', errors.tooManyRequests(42)),
]

/** The error of every endpoint that accepts a body, besides its own errors. */
export const tooManyBodies = errorCase(
  'too_many_bodies',
  'The app, or all apps together, have too many bytes in flight. `Retry-After` says how long to wait.',
  errors.tooManyBodies(1),
)

/** Returns the errors of an endpoint that accepts a JSON body, besides its own errors. */
export function jsonBodyErrors(limitBytes: number, malformed = errors.malformedJson): ErrorCase[] {
  return [
    errorCase('large_body', `The body is over ${limitBytes} bytes.`, errors.bodyTooLarge(limitBytes)),
    // With its separator, a value takes at least two bytes, so a body within a low limit cannot have too many values.
    ...(limitBytes / 2 > limits.jsonValues
      ? [errorCase('many_values', 'The body has too many values.', malformed(tooManyValues))]
      : []),
    tooManyBodies,
    errorCase('wrong_type', 'Content-Type is not application/json.', errors.unsupportedContentType('text/plain')),
    errorCase('encoded_body', 'The body has a Content-Encoding.', errors.unsupportedContentEncoding('gzip')),
  ]
}

/** Returns a success response. `headers` are the headers that only this response has. */
export function success(
  description: string,
  content: Record<string, Content> | undefined,
  headers: Record<string, Header> = {},
): Response {
  return { description, headers, ...(content && { content }) }
}

/** Returns the content of a JSON body with its schema and an example. */
export function json(name: Parameters<typeof schemaRef>[0], example: unknown): Record<string, Content> {
  return { 'application/json': { schema: schemaRef(name), examples: { example: { value: example } } } }
}

/** Returns all responses of an endpoint without a token. */
export function openResponses(own: Record<string, Response>, cases: readonly ErrorCase[] = []) {
  return withHeaders({ ...own, ...errorResponses([...cases, ...anyRequest]) }, () => requestId)
}

/** Returns all responses of an endpoint that requires a token and counts requests. */
export function tokenResponses(own: Record<string, Response>, cases: readonly ErrorCase[] = []) {
  const responses = { ...own, ...errorResponses([...cases, ...anyToken, ...anyRequest]) }
  return withHeaders(responses, (status) => ({
    ...requestId,
    ...(uncounted.has(status) ? {} : rateHeaders),
    ...(status === '401' && challenge),
    ...(status === '429' || status === '503' ? retryAfter : {}),
  }))
}

/** Statuses of answers that precede the counting of the request. */
const uncounted = new Set(['401', '403', '431'])

function withHeaders(responses: Record<string, Response>, headersOf: (status: string) => Record<string, Header>) {
  const entries = Object.entries(responses).map(([status, response]) => {
    return [status, { ...response, headers: { ...headersOf(status), ...response.headers } }] as const
  })
  return Object.fromEntries(entries)
}

/** Groups the cases by status. Each status has a description, the schema of its body, and an example for each case. */
function errorResponses(cases: readonly ErrorCase[]): Record<string, Response> {
  const byStatus = Map.groupBy(cases, ({ answer }) => String(answer.status))
  return Object.fromEntries([...byStatus].map(([status, same]) => [status, errorResponse(same)]))
}

function errorResponse(cases: readonly ErrorCase[]): Response {
  const byType = Map.groupBy(cases, ({ answer }) =>
    typeof answer.body === 'string' ? 'text/plain' : 'application/json',
  )
  const contents = [...byType].map(([type, same]) => {
    const examples = same.map(({ name, when, answer }) => [name, { summary: when, value: answer.body }] as const)
    return [type, { schema: bodySchema(same), examples: Object.fromEntries(examples) }] as const
  })
  return { description: cases.map(({ when }) => when).join(' '), content: Object.fromEntries(contents) }
}

function bodySchema(cases: readonly ErrorCase[]): JsonSchema {
  const [first] = cases
  if (typeof first?.answer.body === 'string') return { type: 'string' }
  return schemaRef(first?.answer.body.status === undefined ? 'Error' : 'NamedError')
}
