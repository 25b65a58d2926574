import { errors, limits, notAnObject, notJson, tooManyValues } from '@sluice/contract'
import { type Endpoint, type Refusal, refusal } from '../endpoint.ts'
import type { Content, Header, JsonSchema, Response } from './document-types.ts'
import { schemaRef } from './schemas.ts'

/** Refusals of any request before it is processed. */
const anyRequest = [
  refusal('not_http', 'The request is not valid HTTP.', errors.malformedRequest()),
  refusal('too_slow', 'The request did not arrive in time.', errors.requestTimeout()),
  refusal('large_headers', 'The request line and headers are over 16 KiB.', errors.headersTooLarge()),
  refusal('our_fault', 'The service failed. The request can be sent again.', errors.internal()),
]

/** Refusals of every endpoint with a token, besides its own. */
const anyToken = [
  refusal('no_token', 'The header X-Service-Token is missing.', errors.unauthorized()),
  refusal('invalid_token', 'The token is invalid or was replaced.', errors.forbidden()),
  refusal('too_many', 'The limit of the window is used up.', errors.tooManyRequests(42)),
]

/** Refusals of every endpoint that accepts an idempotency key, besides its own. */
const anyKey = [
  refusal('invalid_idempotency_key', 'The idempotency key is not valid.', errors.invalidIdempotencyKey()),
  refusal(
    'idempotency_key_in_flight',
    'The original request of the idempotency key is in flight.',
    errors.idempotencyKeyInFlight(),
  ),
  refusal(
    'idempotency_key_reused',
    'The idempotency key was used with another body or path.',
    errors.idempotencyKeyReused(),
  ),
]

const tooManyBodies = refusal(
  'too_many_bodies',
  'The app, or all apps together, have too many bytes in flight. `Retry-After` says how long to wait.',
  errors.tooManyBodies(),
)

/** Returns the refusals of an endpoint with a JSON body, besides its own. */
function anyJson({ maxBytes, refuse }: NonNullable<Endpoint['json']>): Refusal[] {
  const { code } = refuse('').body.error
  const malformed = (name: string, when: string, message: string) =>
    refusal(name, code === undefined ? when : `${code}: ${when}`, refuse(message))
  return [
    malformed('no_object', 'The body is not a JSON object.', notAnObject),
    malformed('not_json', 'The body is not JSON.', notJson),
    refusal('large_body', `The body is over ${maxBytes} bytes.`, errors.bodyTooLarge(maxBytes)),
    // With its separator, a value takes at least two bytes, so a body within a low limit cannot have too many values.
    ...(maxBytes / 2 > limits.jsonValues
      ? [malformed('many_values', 'The body has too many values.', tooManyValues)]
      : []),
    tooManyBodies,
    refusal('wrong_type', 'Content-Type is not application/json.', errors.unsupportedContentType('text/plain')),
    refusal('encoded_body', 'The body has a Content-Encoding.', errors.unsupportedContentEncoding('gzip')),
  ]
}

/** Returns all responses of an endpoint, by status. */
export function responsesOf(endpoint: Endpoint): Record<string, Response> {
  const { answer, refusals, json, file, limit, idempotency } = endpoint
  const all = [
    ...refusals,
    ...(json === undefined ? [] : anyJson(json)),
    ...(file === undefined ? [] : [tooManyBodies]),
    ...(idempotency === undefined ? [] : anyKey),
    ...(limit === undefined ? [] : anyToken),
    ...anyRequest,
  ]
  const responses: Record<string, Response> = {
    [answer.status]: success(answer),
    ...(answer.hasValidator && { 304: notModified(answer) }),
    ...refused(all),
  }
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const headers = { ...headersOf(status, endpoint), ...response.headers, ...endpoint.headers }
      return [status, { ...response, headers }]
    }),
  )
}

function notModified({ headers = {} }: Endpoint['answer']): Response {
  return { description: '`If-None-Match` names the current version.', headers }
}

function success({ description, schema, example, content, headers }: Endpoint['answer']): Response {
  const shown = content ?? (schema && { type: 'application/json', schema: schemaRef(schema), example })
  return {
    description,
    ...(headers && { headers }),
    ...(shown && {
      content: { [shown.type]: { schema: shown.schema, examples: { example: { value: shown.example } } } },
    }),
  }
}

/**
 * Groups refusals by status. Each status has a description, the schema of its body, and an example for each refusal.
 */
function refused(refusals: readonly Refusal[]): Record<string, Response> {
  const byStatus = Map.groupBy(refusals, ({ answer }) => answer.status)
  return Object.fromEntries(
    [...byStatus].map(([status, same]) => {
      const byType = Map.groupBy(same, ({ answer: { body } }) =>
        typeof body === 'string' ? 'text/plain' : 'application/json',
      )
      const content = Object.fromEntries([...byType].map(([type, each]) => [type, contentOf(each)]))
      return [status, { description: same.map(({ when }) => when).join(' '), content }]
    }),
  )
}

function contentOf(refusals: readonly Refusal[]): Content {
  const [body] = refusals.map(({ answer }) => answer.body)
  const name = typeof body === 'object' && body.status !== undefined ? 'NamedError' : 'Error'
  return {
    schema: typeof body === 'string' ? { type: 'string' } : { $ref: `#/components/schemas/${name}` },
    examples: Object.fromEntries(
      refusals.map(({ name, when, answer }) => [name, { summary: when, value: answer.body }]),
    ),
  }
}

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

/** A conflict may also be of the request itself, which has no end to wait for. */
const retryAfterConflict: Record<string, Header> = {
  'Retry-After': { description: 'Seconds to wait before the repetition.', schema: wholeNumber },
}

const challenge: Record<string, Header> = {
  'WWW-Authenticate': { description: 'Names the missing header.', schema: { type: 'string' }, required: true },
}

const replayed: Record<string, Header> = {
  'Idempotency-Replayed': {
    description: '`true` if this is the response to an earlier request with the same idempotency key.',
    schema: { type: 'string', const: 'true' },
  },
}

/** Statuses of answers that precede the counting of the request. */
const uncounted = ['401', '403', '431']

/** Returns the headers that a response has because of its status. */
function headersOf(status: string, { limit, idempotency }: Endpoint): Record<string, Header> {
  // A response that asks to repeat the request is never kept for repetitions.
  const isKept = !['401', '403', '429'].includes(status) && status < '500'
  return {
    ...requestId,
    ...(limit && !uncounted.includes(status) && rateHeaders),
    ...(limit && status === '401' && challenge),
    ...(limit && ['429', '503'].includes(status) && retryAfter),
    ...(idempotency && isKept && replayed),
    ...(idempotency && status === '409' && retryAfterConflict),
  }
}
