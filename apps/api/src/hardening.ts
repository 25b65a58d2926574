import { type RequestListener, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Settings } from '@sluice/config'
import { type ErrorAnswer, errors, limits } from '@sluice/contract'
import { allowUpload, type ClientPolicy, clientPolicy, createClientServer } from '@sluice/service'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { answer } from './answers.ts'

export const timeoutSettings = ['API_HEADERS_TIMEOUT', 'API_BODY_TIMEOUT', 'API_UPLOAD_TIMEOUT'] as const

export type Timeouts = Settings<(typeof timeoutSettings)[number]>

function policyOf({ API_HEADERS_TIMEOUT, API_BODY_TIMEOUT, API_UPLOAD_TIMEOUT }: Timeouts): ClientPolicy {
  const { body, upload, drain } = clientPolicy
  return {
    ...clientPolicy,
    headersMs: API_HEADERS_TIMEOUT,
    body: { ...body, totalMs: API_BODY_TIMEOUT },
    upload: { ...upload, totalMs: API_UPLOAD_TIMEOUT },
    drain: { ...drain, totalMs: Math.min(drain.totalMs, API_BODY_TIMEOUT) },
  }
}

/** Returns a new request ID. An ID from a client is never used, because it could be any text and appears in logs. */
const newRequestId = () => crypto.randomUUID()

/** Maximum number of characters of a percent-encoded code point: four bytes such as `%F0`. */
const encodedCharacters = 12

/** Returns server options against requests that are too large, too slow or not valid HTTP. */
export function hardenedServer(timeouts: Timeouts, log: Logger) {
  return {
    genReqId: newRequestId,
    bodyLimit: limits.jsonBytes,
    // The longest user ID or key, percent-encoded.
    routerOptions: { maxParamLength: Math.max(limits.userIdLength, limits.keyLength) * encodedCharacters },
    serverFactory: (listener: RequestListener) => createClientServer(listener, { policy: policyOf(timeouts) }),
    clientErrorHandler(error: Error & { code?: string }, socket: Socket) {
      const requestId = newRequestId()
      // Logs only the code, because the raw bytes of the error may contain a token.
      log.info({ request_id: requestId, code: error.code }, 'connection cut')
      answerOnSocket(socket, requestId, clientErrors[error.code ?? ''] ?? errors.malformedRequest())
    },
    // Called if the address cannot be decoded, or if a part of it is too long.
    frameworkErrors(_error: Error, request: FastifyRequest, reply: FastifyReply) {
      answer(secured(request, reply), errors.notFound())
    },
  }
}

/** Answers to bytes that are not a complete request. */
const clientErrors: Record<string, ErrorAnswer> = {
  ERR_HTTP_REQUEST_TIMEOUT: errors.requestTimeout(),
  HPE_HEADER_OVERFLOW: errors.headersTooLarge(),
}

/** Answers without fastify, and closes the connection: nobody can tell where the next request on it would begin. */
function answerOnSocket(socket: Socket, requestId: string, { status, body }: ErrorAnswer): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const text = JSON.stringify(body)
  const headers = {
    'X-Request-Id': requestId,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`)
  socket.destroySoon()
}

/**
 * Adds security headers and our own request ID. An authenticated request to an endpoint with `file` sends a file,
 * and gets the time limit of uploads.
 */
export function harden(api: FastifyInstance): void {
  api.addHook('onRequest', async (request, reply) => {
    secured(request, reply)
  })
  api.addHook('preParsing', async (request) => {
    if (request.appId !== undefined && request.routeOptions.config.endpoint?.file !== undefined)
      allowUpload(request.raw)
  })
}

function secured(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.headers({ 'X-Request-Id': request.id, 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' })
}
