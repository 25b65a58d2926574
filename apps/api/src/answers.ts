import { type ErrorAnswer, errors } from '@sluice/contract'
import type { FastifyReply } from 'fastify'

/** Sends an answer of the catalogue. */
export function answer(reply: FastifyReply, { status, body }: ErrorAnswer): FastifyReply {
  return reply.code(status).send(body)
}

/** Turns what fastify or a handler threw into an answer: what the client did is told, what we did is logged. */
export function answerError(error: unknown, reply: FastifyReply): FastifyReply {
  const { code, statusCode } = codesOf(error)
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return answer(reply, errors.unsupportedContentType(reply.request.headers['content-type']))
  }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return answer(reply, errors.bodyTooLarge(reply.request.routeOptions.bodyLimit))
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return answer(reply, errors.malformedJson())
  reply.request.log.error({ err: error }, 'request failed')
  return answer(reply, errors.internal())
}

function codesOf(error: unknown): { code: string | undefined; statusCode: number | undefined } {
  if (!(error instanceof Error)) return { code: undefined, statusCode: undefined }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const statusCode = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined
  return { code, statusCode }
}
