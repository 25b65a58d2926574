import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Settings } from '@sluice/config'
import { type ErrorAnswer, errors, limits } from '@sluice/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { answer } from './answers.ts'

export const timeoutSettings = ['API_HEADERS_TIMEOUT', 'API_BODY_TIMEOUT', 'API_UPLOAD_TIMEOUT'] as const

export type Timeouts = Settings<(typeof timeoutSettings)[number]>

/** Largest request line and headers together, bytes. */
const maxHeaderSize = 16_384

/** How often Node looks for connections that are past their time, ms. */
const connectionsCheckingInterval = 1_000

/** Longer than the idle time of usual load balancers, so that it is they who close a connection, ms. */
const keepAliveTimeout = 72_000

/** A client's own ID is never taken over: it could be anything, and it gets into logs. */
const newRequestId = () => crypto.randomUUID()

/** Server options against requests that are too large, too slow or not HTTP at all. */
export function hardenedServer(timeouts: Timeouts, log: Logger) {
  return {
    genReqId: newRequestId,
    bodyLimit: limits.jsonBytes,
    requestTimeout: timeouts.API_UPLOAD_TIMEOUT,
    keepAliveTimeout,
    http: {
      maxHeaderSize,
      headersTimeout: Math.min(timeouts.API_HEADERS_TIMEOUT, timeouts.API_UPLOAD_TIMEOUT),
      connectionsCheckingInterval,
      // Answered below, with a body like any other.
      requireHostHeader: false,
    },
    clientErrorHandler(error: Error & { code?: string }, socket: Socket) {
      const requestId = newRequestId()
      // Its raw bytes may hold a token: only the code is logged.
      log.info({ request_id: requestId, code: error.code }, 'connection cut')
      answerOnSocket(socket, requestId, clientErrors[error.code ?? ''] ?? errors.malformedRequest())
    },
    // An address that cannot be decoded, or with a part that is too long.
    frameworkErrors(_error: Error, request: FastifyRequest, reply: FastifyReply) {
      answer(secured(request, reply), errors.notFound())
    },
  }
}

/** Answers to requests that never became one. */
const clientErrors: Record<string, ErrorAnswer> = {
  ERR_HTTP_REQUEST_TIMEOUT: errors.requestTimeout(),
  HPE_HEADER_OVERFLOW: errors.headersTooLarge(),
}

/** Answers below fastify, and closes the connection: what follows on it has no known beginning. */
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
 * Gives every answer its security headers and a request ID of our own, refuses HTTP/1.1 without a host, and cuts slow
 * bodies. A route that takes more than a JSON body says so by `config.upload`.
 */
export function harden(api: FastifyInstance, timeouts: Timeouts): void {
  api.addHook('onRequest', async (request, reply) => {
    secured(request, reply)
    const { upload = false } = request.routeOptions.config
    cutWhenSlow(request, reply, upload ? timeouts.API_UPLOAD_TIMEOUT : timeouts.API_BODY_TIMEOUT)
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined) {
      return answer(reply.header('Connection', 'close'), errors.malformedRequest())
    }
  })
}

function secured(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.headers({ 'X-Request-Id': request.id, 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' })
}

/** Node knows one time-out for all requests: here a body that is not there in time ends its connection. */
function cutWhenSlow({ id, raw, headers, log }: FastifyRequest, reply: FastifyReply, timeout: number): void {
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return
  const timer = setTimeout(() => {
    log.info({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, 'connection cut')
    if (reply.sent) raw.socket.destroy()
    else answerOnSocket(raw.socket, id, errors.requestTimeout())
  }, timeout)
  const clear = () => clearTimeout(timer)
  raw.once('end', clear)
  raw.once('close', clear)
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is a file: it may take `API_UPLOAD_TIMEOUT`. */
    upload?: boolean
  }
}
