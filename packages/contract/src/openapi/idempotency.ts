import { errors } from '../errors.ts'
import type { Header, Operation, Response } from './document-types.ts'
import { type ErrorCase, tokenResponses } from './responses.ts'

const parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description: [
    'Extension of Sluice. 1 to 255 visible ASCII characters, a new key for each request. A repetition with the same key and body',
    'gets the original response for 24 hours, and changes nothing. It does not count against the rate limit.',
  ].join(' '),
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  example: '8e03978e-40d5-43dd-bc93-6894a57f9324',
} as const

const cases: ErrorCase[] = [
  {
    name: 'invalid_idempotency_key',
    when: 'The idempotency key is not valid.',
    answer: errors.invalidIdempotencyKey(),
  },
  {
    name: 'idempotency_key_in_flight',
    when: 'The original request of the idempotency key is in flight.',
    answer: errors.idempotencyKeyInFlight(),
  },
  {
    name: 'idempotency_key_reused',
    when: 'The idempotency key was used with another body.',
    answer: errors.idempotencyKeyReused(),
  },
]

const replayed: Record<string, Header> = {
  'Idempotency-Replayed': {
    description: '`true` if this is the response to an earlier request with the same idempotency key.',
    schema: { type: 'string', const: 'true' },
  },
}

const retryAfter: Record<string, Header> = {
  'Retry-After': { description: 'Seconds to wait before the repetition.', schema: { type: 'integer', minimum: 0 } },
}

/** Statuses of responses that are never kept for repetitions. */
const isNeverKept = (status: string) => ['401', '403', '429'].includes(status) || status >= '500'

/** Adds the header `Idempotency-Key` with its responses to an operation. */
export function acceptsKey(operation: Operation): Operation {
  const own = tokenResponses({}, cases)
  const added = Object.fromEntries(['400', '409', '422'].map((status) => [status, own[status]]))
  const responses = Object.entries({ ...added, ...operation.responses }).map(([status, response]) => {
    const isJoined = status in added && response !== own[status]
    const joined = isJoined ? join(response, own[status], casesOf(status)) : response
    const headers = {
      ...joined?.headers,
      ...(!isNeverKept(status) && replayed),
      ...(status === '409' && retryAfter),
    }
    return [status, { ...joined, headers }]
  })
  return {
    ...operation,
    parameters: [...(operation.parameters ?? []), parameter],
    responses: Object.fromEntries(responses),
  }
}

const casesOf = (status: string) => cases.filter(({ answer }) => String(answer.status) === status)

/** Adds cases to the first response, with their examples from the second response. */
function join(
  first: Response | undefined,
  second: Response | undefined,
  added: readonly ErrorCase[],
): Response | undefined {
  const type = 'application/json'
  const [one, other] = [first?.content?.[type], second?.content?.[type]]
  if (first === undefined || one === undefined || other === undefined) return first
  return {
    ...first,
    description: [first.description, ...added.map(({ when }) => when)].join(' '),
    content: {
      ...first.content,
      [type]: { ...one, examples: { ...one.examples, ...pick(other.examples, added) } },
    },
  }
}

function pick(examples: NonNullable<Response['content']>[string]['examples'], picked: readonly ErrorCase[]) {
  return Object.fromEntries(Object.entries(examples).filter(([name]) => picked.some((each) => each.name === name)))
}
