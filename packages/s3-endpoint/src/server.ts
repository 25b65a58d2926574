import { randomBytes } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import {
  type ClientPolicy,
  clientPolicy,
  continueBody,
  createClientServer,
  passBack,
  slowBodyOf,
  untilClosed,
} from '@sluice/service'
import { S3Error, systemErrorCode, toS3Error } from './errors.ts'
import { handleRequest, type S3Options } from './handler.ts'
import type { Answer } from './protocol/answer.ts'
import { parseHeaders } from './protocol/headers.ts'
import { writeErrorXml } from './protocol/xml.ts'

/** A connection without traffic is closed after this time, ms. */
const idleTimeoutMs = 2 * 60 * 1000

/** A body may be a file of any size. A sender is too slow only if it sends almost nothing, or takes hours. */
const fileBodyPolicy = {
  minimumBytesPerSecond: clientPolicy.upload.minimumBytesPerSecond,
  graceMs: idleTimeoutMs,
  totalMs: 4 * 60 * 60 * 1000,
}

export const s3ClientPolicy: ClientPolicy = {
  ...clientPolicy,
  body: fileBodyPolicy,
  drain: { ...clientPolicy.drain, bytes: 16 * 1024 * 1024 },
}

/** The error codes of a write to a client that has disconnected. */
const disconnectCodes = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])

export interface S3ServerOptions<Identity> extends S3Options<Identity> {
  /** Called with failures that the sender did not cause. If it is left out, failures are written to stderr. */
  onError?: (error: unknown, request: { requestId: string; method: string; path: string }) => void
  /** Returns the answer of another server that a request belongs to; undefined if this server is to answer it. */
  forward?: (request: IncomingMessage) => Promise<IncomingMessage | undefined>
  /** The limits for clients; {@link s3ClientPolicy} by default. */
  clients?: ClientPolicy
}

/** An HTTP server that speaks S3. `idle` resolves when all requests that have begun so far have ended. */
export interface S3Server {
  http: Server
  idle(): Promise<void>
}

/**
 * Creates an HTTP server that speaks S3 over a backend. The caller starts listening and closes the server.
 *
 * It is a server instead of a request listener, because only a server can bound slow clients and delay `100 Continue`
 * until the request is known to be acceptable.
 */
export function createS3Server<Identity>(options: S3ServerOptions<Identity>): S3Server {
  const running = new Set<Promise<void>>()
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const handling = handle(request, response, options).finally(() => running.delete(handling))
    running.add(handling)
  }
  const http = createClientServer(serve, { policy: options.clients ?? s3ClientPolicy })
  http.setTimeout(idleTimeoutMs)
  return {
    http,
    idle: async () => {
      await Promise.all(running)
    },
  }
}

async function handle<Identity>(
  request: IncomingMessage,
  response: ServerResponse,
  options: S3ServerOptions<Identity>,
): Promise<void> {
  const requestId = randomBytes(8).toString('hex').toUpperCase()
  const method = request.method ?? ''
  const url = request.url ?? ''
  const path = url.split('?', 1)[0] ?? ''
  const whenAnswered = untilClosed(response)
  let answer: Answer
  try {
    const forwarded = await options.forward?.(request)
    if (forwarded !== undefined) {
      const drained = drain(request)
      await passBack(forwarded, response)
      return await drained
    }
    const headers = parseHeaders(request.rawHeaders)
    answer = await handleRequest({ method, url, headers, openBody: () => readBody(request), whenAnswered }, options)
  } catch (error) {
    const refusal = toS3Error(error)
    if (!(error instanceof S3Error)) report(error, { requestId, method, path }, options)
    answer = errorAnswer(refusal, path, requestId)
  }
  const common = {
    'x-amz-request-id': requestId,
    // Browsers must never treat an uploaded file as a page, whatever its first bytes are.
    'x-content-type-options': 'nosniff',
  }
  const drained = drain(request)
  try {
    await send(response, { ...answer, headers: { ...common, ...answer.headers } }, method === 'HEAD')
  } catch (error) {
    // Clients often disconnect during an answer, so that is not reported. The answer cannot be finished in any case.
    if (!disconnectCodes.has(systemErrorCode(error) ?? '')) report(error, { requestId, method, path }, options)
    response.destroy()
  }
  await drained
}

async function* readBody(request: IncomingMessage): AsyncGenerator<Buffer> {
  continueBody(request)
  const tooSlow = slowBodyOf(request)
  // Ending the iteration early must not destroy the request, because the answer uses the same connection.
  const chunks = request.iterator({ destroyOnReturn: false })
  try {
    for (;;) {
      const next = await unlessAborted(chunks.next(), tooSlow)
      if (next.done === true) return
      yield next.value
    }
  } catch {
    if (tooSlow?.aborted) throw slowBodyError()
    throw new S3Error('IncompleteBody', 'The connection broke off before the whole body had come.')
  } finally {
    // While the iteration waits for a slow client, `return` would wait until the connection ends.
    if (!tooSlow?.aborted) await chunks.return?.()
  }
}

/** Settles like the promise, or rejects as soon as the signal aborts. */
async function unlessAborted<Result>(promise: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return await promise
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/**
 * Creates the error for a body that arrives too slowly. It closes the connection, because the rest may arrive for a
 * long time.
 */
function slowBodyError(): S3Error {
  return new S3Error('RequestTimeout', 'Your request was not received fast enough.', {
    headers: { connection: 'close' },
  })
}

async function send(response: ServerResponse, answer: Answer, isHead: boolean): Promise<void> {
  const { status, headers, body } = answer
  if (body === undefined || typeof body === 'string') {
    const bytes = Buffer.from(body ?? '')
    const hasLength = status === 204 || status === 304 || headers['content-length'] !== undefined
    response.writeHead(status, hasLength ? headers : { ...headers, 'content-length': String(bytes.length) })
    response.end(isHead ? undefined : bytes)
    return
  }
  try {
    response.writeHead(status, { ...headers, 'content-length': String(body.length) })
    if (body.length === 0) response.end()
    else await pipeline(body.open(), response)
  } finally {
    await body.close()
  }
}

/**
 * Reads and drops the rest of a refused sender's body.
 *
 * Resolves when the body or the connection has ended. The policy for clients limits how long this takes. Closing the
 * connection at once would reset it, and the sender would never see the reason of the refusal.
 */
async function drain(request: IncomingMessage): Promise<void> {
  const { socket } = request
  if (request.complete || socket.destroyed) return
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  request.resume()
  request.once('end', resolve)
  // After the answer, Node reports a broken connection only to the socket, and no longer to the request.
  request.once('error', () => resolve())
  socket.once('close', resolve)
  await ended
  socket.off('close', resolve)
}

function errorAnswer(error: S3Error, path: string, requestId: string): Answer {
  const { code, message, fields } = error
  const body = writeErrorXml({ Code: code, Message: message, ...fields, Resource: path, RequestId: requestId })
  return { status: error.status, headers: { 'content-type': 'application/xml', ...error.headers }, body }
}

function report<Identity>(
  error: unknown,
  request: { requestId: string; method: string; path: string },
  { onError }: S3ServerOptions<Identity>,
): void {
  if (onError !== undefined) onError(error, request)
  // The path is left out, because the client chooses its bytes.
  else console.error(`S3 request ${request.requestId} (${request.method}) failed:`, error)
}
