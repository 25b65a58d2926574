import type { ExportView, ImportView } from '@sluice/contract/answers'

/** A failure of a call of the client. */
export class SluiceError extends Error {
  override readonly name: string = 'SluiceError'
  /**
   * Whether the same call may succeed later. The client has already repeated such a call until its patience ran out.
   */
  readonly isTransient: boolean = false
  /** How long the service asks to wait before the next call, ms; undefined if it does not say. */
  readonly retryAfterMs: number | undefined = undefined
}

/** The service did not answer: no connection, a connection that broke, or an answer that came too late. */
export class NetworkError extends SluiceError {
  override readonly name = 'NetworkError'
  override readonly isTransient = true
}

/** The address belongs to another service, or a proxy answered in its place. */
export class UnexpectedAnswerError extends SluiceError {
  override readonly name = 'UnexpectedAnswerError'
}

/** Storage refused the upload of a file. */
export class UploadError extends SluiceError {
  override readonly name = 'UploadError'
  override readonly isTransient: boolean
  override readonly retryAfterMs: number | undefined
  readonly status: number
  /** The error code of storage, such as `BadDigest`; undefined if it has none. */
  readonly code: string | undefined

  constructor(refusal: { status: number; code: string | undefined; text: string; retryAfterMs: number | undefined }) {
    super(`storage refused the upload (${refusal.status}): ${refusal.text}`)
    this.status = refusal.status
    this.code = refusal.code
    this.retryAfterMs = refusal.retryAfterMs
    this.isTransient =
      refusal.status >= 500 || refusal.status === 429 || ['RequestTimeout', 'IncompleteBody'].includes(this.code ?? '')
  }
}

/** An import ended without being completed, or is held for approval. */
export class ImportFailedError extends SluiceError {
  override readonly name = 'ImportFailedError'
  /** The import at its end: `failed`, `cancelled`, `expired`, or `held`, which `approveImport` ends. */
  readonly view: ImportView

  constructor(view: ImportView) {
    super(reasonOf(view))
    this.view = view
  }
}

function reasonOf({ state, error, held, import_id: importId }: ImportView): string {
  if (state === 'cancelled') return 'the import was cancelled'
  if (state !== 'held') return `the import has ${state}: ${error ?? 'no file arrived'}`
  return `the import is held: ${held?.reasons.join('; ')}. To apply it: approveImport('${importId}')`
}

/** An export ended without a file. */
export class ExportFailedError extends SluiceError {
  override readonly name = 'ExportFailedError'
  readonly view: ExportView

  constructor(view: ExportView) {
    super(`the export has ${view.state}: ${view.error ?? 'its file is gone'}`)
    this.view = view
  }
}

/** What an error answer of the API says. */
export interface ErrorFacts {
  status: number
  /** `error.code` of the body (service.md, Errors). */
  code: number | undefined
  messages: readonly string[]
  retryAfterMs: number | undefined
  /** ID of the request in the log of the service. */
  requestId: string | undefined
}

/** An error answer of the API. Its subclasses tell the documented errors apart. */
export class ApiError extends SluiceError {
  override readonly name: string = 'ApiError'
  override readonly isTransient: boolean
  override readonly retryAfterMs: number | undefined
  readonly status: number
  readonly code: number | undefined
  readonly messages: readonly string[]
  /** Quote this ID when you report a problem. */
  readonly requestId: string | undefined

  constructor({ status, code, messages, retryAfterMs, requestId }: ErrorFacts) {
    super(`${messages.length === 0 ? 'the API answered' : messages.join(', ')} (${status})`)
    this.status = status
    this.code = code
    this.messages = messages
    this.retryAfterMs = retryAfterMs
    this.requestId = requestId
    this.isTransient =
      status >= 500 || status === 429 || status === 408 || (status === 409 && retryAfterMs !== undefined)
  }
}

/** 400: the request is malformed. The messages name the members. */
export class BadRequestError extends ApiError {
  override readonly name: string = 'BadRequestError'
}

/** 400, code 1001: a profile update does not have the documented form. */
export class MalformedProfileUpdateError extends BadRequestError {
  override readonly name = 'MalformedProfileUpdateError'
}

/** 400, code 1002: the user of a profile update is not registered. */
export class UnregisteredUserError extends BadRequestError {
  override readonly name = 'UnregisteredUserError'
}

/** 400, code 1003: a key, type or value of a profile update is invalid. Each message names the key. */
export class InvalidProfileError extends BadRequestError {
  override readonly name = 'InvalidProfileError'
}

/** 400, code 2001: a file is refused as a whole. */
export class RefusedFileError extends BadRequestError {
  override readonly name = 'RefusedFileError'
}

/** 401: the request has no API token. */
export class UnauthorizedError extends ApiError {
  override readonly name = 'UnauthorizedError'
}

/** 403: the API token is invalid or was replaced. */
export class ForbiddenError extends ApiError {
  override readonly name = 'ForbiddenError'
}

/** 404: the user, key, import, export or path does not exist. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError'
}

/** 408: the request did not arrive in time. */
export class RequestTimeoutError extends ApiError {
  override readonly name = 'RequestTimeoutError'
}

/** 409: the state does not allow the request, such as a key with another type, or an import that has ended. */
export class ConflictError extends ApiError {
  override readonly name: string = 'ConflictError'
}

/** 409: the original request with this idempotency key is in flight. */
export class IdempotencyKeyInFlightError extends ConflictError {
  override readonly name = 'IdempotencyKeyInFlightError'
}

/** 410: the link has expired, or its file was removed. */
export class LinkExpiredError extends ApiError {
  override readonly name = 'LinkExpiredError'
}

/** 413: the body is too large. */
export class BodyTooLargeError extends ApiError {
  override readonly name = 'BodyTooLargeError'
}

/** 415: the content type is not supported. */
export class UnsupportedContentTypeError extends ApiError {
  override readonly name = 'UnsupportedContentTypeError'
}

/** 422: the idempotency key was used for a request with another body. */
export class IdempotencyKeyReusedError extends ApiError {
  override readonly name = 'IdempotencyKeyReusedError'
}

/** 429: requests came too quickly. `retryAfterMs` says how long to wait. */
export class TooManyRequestsError extends ApiError {
  override readonly name = 'TooManyRequestsError'
}

/** 431: the request line and headers are too large. */
export class HeadersTooLargeError extends ApiError {
  override readonly name = 'HeadersTooLargeError'
}

/** 500: the service failed. */
export class InternalError extends ApiError {
  override readonly name = 'InternalError'
}

/** 503: the service is not ready, or has too many requests in flight. */
export class UnavailableError extends ApiError {
  override readonly name = 'UnavailableError'
}

type ApiErrorClass = new (facts: ErrorFacts) => ApiError

// The documented errors (service.md, Errors).
const classesByCode: Readonly<Record<number, ApiErrorClass>> = {
  1001: MalformedProfileUpdateError,
  1002: UnregisteredUserError,
  1003: InvalidProfileError,
  2001: RefusedFileError,
}

const classesByStatus: Readonly<Record<number, ApiErrorClass>> = {
  400: BadRequestError,
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  408: RequestTimeoutError,
  409: ConflictError,
  410: LinkExpiredError,
  413: BodyTooLargeError,
  415: UnsupportedContentTypeError,
  422: IdempotencyKeyReusedError,
  429: TooManyRequestsError,
  431: HeadersTooLargeError,
  500: InternalError,
  503: UnavailableError,
}

/** Returns the error for an answer of the API. An undocumented status is a plain {@link ApiError}. */
export function apiError(facts: ErrorFacts): ApiError {
  const { status, code, retryAfterMs } = facts
  // Of all conflicts, only a request in flight says when to repeat it (second-day.md §4, Keys).
  if (status === 409 && retryAfterMs !== undefined) return new IdempotencyKeyInFlightError(facts)
  const ErrorClass =
    (status === 400 && code !== undefined && classesByCode[code]) || classesByStatus[status] || ApiError
  return new ErrorClass(facts)
}
