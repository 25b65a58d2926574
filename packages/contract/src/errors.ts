import { fileMessages, keyMessages, userIdColumn, valueMessages } from './import-messages.ts'
import { limits } from './limits.ts'
import { listNames } from './name.ts'

/**
 * An answer that is not a success: the HTTP status and the JSON body (service.md, Errors; design.md §3, Error bodies).
 */
export interface ErrorAnswer {
  status: number
  /** `Retry-After`: the same request may succeed then, s. */
  retryAfter?: number
  body: { status?: string; error: { code?: number; messages: string[] } }
}

/** An error answer with a plain text body, as service.md specifies for the 415 of bulk import v2. */
export interface TextAnswer {
  status: number
  retryAfter?: never
  body: string
}

/** The message for a body that is not JSON. */
export const notJson = 'The request body is not valid JSON.'

/** The message for a body that is not a JSON object. */
export const notAnObject = 'The request body must be a JSON object.'

/** The message for a JSON body with more values and keys than allowed. */
export const tooManyValues = `The request body has over ${limits.jsonValues} values.`

/** All errors that endpoints answer. */
export const errors = {
  unauthorized: (): ErrorAnswer => named(401, 'unauthorized', 'The header X-Service-Token is missing.'),
  forbidden: (): ErrorAnswer => named(403, 'forbidden', 'The API token is invalid.'),
  notFound: (): ErrorAnswer => named(404, 'not_found', 'Not found.'),
  tooManyRequests: (waitSeconds: number): ErrorAnswer =>
    after(
      waitSeconds,
      named(429, 'too_many_requests', `Requests came too quickly. Please wait ${waitSeconds} seconds.`),
    ),
  /** Bulk import: the app has reached its limit of waiting imports. */
  tooManyWaiting: (reason: string, waitSeconds: number): ErrorAnswer =>
    after(
      waitSeconds,
      named(429, 'too_many_requests', `Requests came too quickly: ${reason}. Please wait ${waitSeconds} seconds.`),
    ),
  linkExpired: (): ErrorAnswer => plain(410, 'The link has expired.'),
  badRequest: (...messages: string[]): ErrorAnswer => plain(400, ...messages),
  /** Bulk import: an import that has ended cannot be cancelled. */
  importEnded: (state: string): ErrorAnswer => plain(409, `The import cannot be cancelled: it has ${state} already.`),
  /** Bulk import: an import that is not held cannot be approved. */
  notHeld: (state: string): ErrorAnswer => plain(409, `The import cannot be approved: it is not held, but ${state}.`),
  /** Bulk import: an import cannot be undone. */
  undoRefused: (reason: string): ErrorAnswer => plain(409, `The import cannot be undone: ${reason}`),
  /** Profile keys: a key is registered with another type, or enabling one would exceed the limit of keys. */
  keyConflict: (...messages: string[]): ErrorAnswer => plain(409, ...messages),
  invalidIdempotencyKey: (): ErrorAnswer =>
    errors.badRequest('Idempotency-Key must have 1 to 255 visible ASCII characters.'),
  /** The original request of an idempotency key has no response yet. */
  idempotencyKeyInFlight: (): ErrorAnswer => after(1, plain(409, 'A request with this Idempotency-Key is in flight.')),
  idempotencyKeyReused: (): ErrorAnswer =>
    plain(422, 'This Idempotency-Key was used for a request with another body or path.'),
  /** Profile keys that a request names are disabled. */
  disabledKeys: (keys: readonly string[]): ErrorAnswer =>
    errors.badRequest(...keys.slice(0, limits.messagesPerAnswer).map(keyMessages.disabled)),
  /** Profile keys that a request names are not registered. */
  unregisteredKeys: (keys: readonly string[]): ErrorAnswer =>
    errors.badRequest(fileMessages.keysNotRegistered(listNames(keys))),
  malformedRequest: (): ErrorAnswer => errors.badRequest('The request is not valid HTTP.'),
  requestTimeout: (): ErrorAnswer => plain(408, 'The request did not arrive in time.'),
  headersTooLarge: (): ErrorAnswer => plain(431, 'The request line and headers are too large.'),
  /** Profile update: the payload does not have the documented form. */
  malformedProfileUpdate: (...messages: string[]): ErrorAnswer => coded(1001, messages),
  unregisteredUser: (): ErrorAnswer => coded(1002, [`${userIdColumn} ${valueMessages.unregisteredUser}`]),
  /** Profile update: the key, type or value of an entry is invalid. Each message names the key. */
  invalidProfile: (...messages: string[]): ErrorAnswer => coded(1003, messages),
  /** Bulk import v2: the file as a whole is refused, with the same message as in the result mail of v3. */
  fileRefused: (message: string): ErrorAnswer => coded(2001, [message]),
  bodyCutOff: (): ErrorAnswer => errors.badRequest('The request body broke off.'),
  bodyTooLarge: (limitBytes: number): ErrorAnswer => plain(413, `The request body is over ${limitBytes} bytes.`),
  /** Room returns soon: most answers take milliseconds. */
  tooManyBodies: (): ErrorAnswer =>
    after(1, plain(503, 'Too many large requests are in flight. Please wait 1 second.')),
  appMoves: (): ErrorAnswer => after(1, plain(503, 'The app is moved to another database. Please wait 1 second.')),
  unsupportedContentType: (given: string | undefined): ErrorAnswer =>
    plain(415, `The given content type is not supported: ${given ?? 'none'}`),
  unsupportedContentEncoding: (given: string): ErrorAnswer =>
    plain(415, `The given content encoding is not supported: ${given}`),
  unsupportedFileType: (): TextAnswer => ({
    status: 415,
    body: 'Content-Type must be text/csv (in UTF-8) or application/gzip, without a Content-Encoding.',
  }),
  internal: (): ErrorAnswer => plain(500, 'Something went wrong on our side. Please try again.'),
  unavailable: (missing: readonly string[]): ErrorAnswer => {
    const reason = missing.length === 0 ? '' : `: it waits for ${missing.join(', ')}`
    return plain(503, `The service is not ready${reason}. Please try again.`)
  },
}

function after(retryAfter: number, answer: ErrorAnswer): ErrorAnswer {
  return { ...answer, retryAfter }
}

function plain(status: number, ...messages: string[]): ErrorAnswer {
  return { status, body: { error: { messages } } }
}

function coded(code: number, messages: string[]): ErrorAnswer {
  return { status: 400, body: { error: { code, messages } } }
}

function named(status: number, name: string, message: string): ErrorAnswer {
  return { status, body: { status: name, error: { messages: [message] } } }
}
