import { type ErrorAnswer, errors, notJson, type TextAnswer, tooManyValues } from '@sluice/contract'
import { isRefusedMove } from '@sluice/database'
import { KeyClaimLost } from '@sluice/idempotency'
import { TooManyWaiting } from '@sluice/imports'
import { AppSuspended } from '@sluice/moves'
import type { FastifyReply } from 'fastify'
import { TooManyBodies } from './bodies-in-flight.ts'
import { JsonSyntaxError, TooManyValues } from './json/parser.ts'
import { TooManyReads } from './reads-in-flight.ts'
import { BodyCutOff, BodyTooLarge, dropBody, UnsupportedBody, UnsupportedEncoding } from './request-body.ts'

/** Sends an answer of the catalogue (service.md, Errors; design.md §3, Error bodies). */
export function answer(reply: FastifyReply, { status, retryAfter, body }: ErrorAnswer | TextAnswer): FastifyReply {
  if (retryAfter !== undefined) reply.header('Retry-After', retryAfter)
  return reply.code(status).send(body)
}

/**
 * Answers an error that fastify or a handler threw. If the client did not cause the error, logs it and hides its text.
 */
export function answerError(error: unknown, reply: FastifyReply): FastifyReply {
  // Fastify would close the connection, and a client that is still sending would never read the answer.
  reply.removeHeader('Connection')
  dropBody(reply.request)
  const refusal = refusalOf(error, reply)
  if (refusal === undefined) {
    const { method, routeOptions } = reply.request
    reply.request.log.error({ err: error, method, route: routeOptions.url }, 'request failed')
  }
  return answer(reply, refusal ?? errors.internal())
}

/** Returns the documented answer to an error; undefined if the service itself failed. */
function refusalOf(error: unknown, { request }: FastifyReply): ErrorAnswer | undefined {
  const { code, statusCode } = codesOf(error)
  if (request.is404) return errors.notFound()
  if (error instanceof UnsupportedBody || code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return errors.unsupportedContentType(request.headers['content-type'])
  }
  if (error instanceof UnsupportedEncoding) {
    return errors.unsupportedContentEncoding(request.headers['content-encoding'] ?? '')
  }
  if (error instanceof TooManyBodies) return errors.tooManyBodies()
  if (error instanceof TooManyReads) return errors.tooManyRequests(1)
  if (error instanceof KeyClaimLost) return errors.idempotencyKeyInFlight()
  if (error instanceof TooManyWaiting) return errors.tooManyWaiting(error.message, error.retryAfter)
  if (isOfMovingApp(error)) return errors.appMoves()
  if (error instanceof BodyTooLarge) return errors.bodyTooLarge(error.limitBytes)
  if (error instanceof BodyCutOff) return errors.bodyCutOff()
  // design.md §3, Malformed JSON.
  const refuse = request.routeOptions.config.endpoint?.json?.refuse ?? errors.badRequest
  if (error instanceof TooManyValues) return refuse(tooManyValues)
  if (error instanceof JsonSyntaxError) return refuse(notJson)
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500 ? errors.bodyCutOff() : undefined
}

/** Whether a request waited for its app to move, or wrote while the app moved. It had no effect. */
function isOfMovingApp(error: unknown): boolean {
  return error instanceof AppSuspended || isRefusedMove(error)
}

function codesOf(error: unknown): { code: string | undefined; statusCode: number | undefined } {
  if (!(error instanceof Error)) return { code: undefined, statusCode: undefined }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const statusCode = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined
  return { code, statusCode }
}
