import { type ErrorAnswer, errors, type TextAnswer } from '@sluice/contract'
import type { FastifyReply } from 'fastify'
import { BodyCutOff, BodyTooLarge, dropBody, MalformedJson, UnsupportedCharset } from './request-body.ts'

/** Sends an answer of the catalogue. */
export function answer(reply: FastifyReply, { status, body }: ErrorAnswer | TextAnswer): FastifyReply {
  return reply.code(status).send(body)
}

/** Turns what fastify or a handler threw into an answer: what the client did is told, what we did is logged. */
export function answerError(error: unknown, reply: FastifyReply): FastifyReply {
  // Fastify would close the connection, and a client that still sends would never see the answer.
  reply.removeHeader('Connection')
  dropBody(reply.request)
  const refusal = refusalOf(error, reply)
  if (refusal === undefined) reply.request.log.error({ err: error }, 'request failed')
  return answer(reply, refusal ?? errors.internal())
}

/** What a client did wrong, as an answer; undefined where it did nothing wrong. */
function refusalOf(error: unknown, { request }: FastifyReply): ErrorAnswer | undefined {
  const { code, statusCode } = codesOf(error)
  if (request.is404) return errors.notFound()
  if (error instanceof UnsupportedCharset || code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return errors.unsupportedContentType(request.headers['content-type'])
  }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return errors.bodyTooLarge(request.routeOptions.bodyLimit)
  if (error instanceof BodyTooLarge) return errors.bodyTooLarge(error.limit)
  if (error instanceof BodyCutOff) return errors.bodyCutOff()
  if (error instanceof MalformedJson) return (request.routeOptions.config.malformedJson ?? errors.malformedJson)()
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500 ? errors.bodyCutOff() : undefined
}

function codesOf(error: unknown): { code: string | undefined; statusCode: number | undefined } {
  if (!(error instanceof Error)) return { code: undefined, statusCode: undefined }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const statusCode = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined
  return { code, statusCode }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How the route answers a body that is not JSON, where it has an answer of its own. */
    malformedJson?: () => ErrorAnswer
  }
}
