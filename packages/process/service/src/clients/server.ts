import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type ClientPolicy, clientPolicy } from './policy.ts'
import { watchAnswers } from './slow-answers.ts'
import { type BodyLimits, type BodyWatch, watchBody } from './slow-bodies.ts'
import { boundWaitingConnections, type WaitingConnections } from './waiting-connections.ts'

type Listener = (request: IncomingMessage, response: ServerResponse) => void

interface WatchedBody {
  /** Measures the body by other limits from now on. */
  watch(limits: BodyLimits): void
  /** The limits for a file. */
  upload: BodyLimits
  /** Aborts when the body is too slow. */
  tooSlow: AbortController
  /** Whether the request's listener answers if the body is too slow. Otherwise the server answers. */
  isAnsweredByListener: boolean
}

const watchedBodies = new WeakMap<IncomingMessage, WatchedBody>()

/** The responses of requests whose clients wait for `100 Continue`. */
const pendingContinues = new WeakMap<IncomingMessage, ServerResponse>()

const waitingConnections = new WeakMap<Server, WaitingConnections>()

/**
 * Creates an HTTP server; every app uses it. The server ends the connections of clients that send bodies too slowly or
 * take answers too slowly, and bounds waiting connections. It refuses requests that a proxy could read as other
 * requests. `policy` has the limits.
 *
 * A client that waits for `100 Continue` gets it from {@link continueBody}, so that a refusal can precede the body.
 *
 * A refusal emits the event `clientError`, like Node's own refusals. Without a listener, the answer is a bare 400
 * or 408.
 */
export function createClientServer(
  listener: Listener,
  { policy = clientPolicy }: { policy?: ClientPolicy } = {},
): Server {
  const connections = boundWaitingConnections(policy.waiting)
  const watchAnswer = watchAnswers(policy.answer)
  const serve: Listener = (request, response) => {
    connections.serving(request.socket, response)
    const problem = problemOf(request)
    if (problem !== undefined) return refuse(server, request.socket, 'HPE_INVALID_CONSTANT', problem)
    endWhenSlow(server, request, response, policy)
    watchAnswer(response)
    listener(request, response)
  }
  const server = createServer(
    {
      maxHeaderSize: policy.headerBytes,
      headersTimeout: policy.headersMs,
      connectionsCheckingInterval: Math.min(1_000, policy.headersMs / 2),
      keepAliveTimeout: policy.keepAliveMs,
      // The watch over the body replaces a limit for the request, because the time depends on the body.
      requestTimeout: 0,
      requireHostHeader: false,
    },
    serve,
  )
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    pendingContinues.set(request, response)
    serve(request, response)
  })
  server.on('connection', (socket: Socket) => connections.opened(socket))
  waitingConnections.set(server, connections)
  return server
}

/**
 * Ends the connections of a server that have sent nothing yet. Browsers open such connections in advance, and Node does
 * not count them as idle.
 */
export function endSilentConnections(server: Server): void {
  waitingConnections.get(server)?.endSilent()
}

/** Sends `100 Continue` if the client waits for it. Must be called before the body of a request is read. */
export function continueBody(request: IncomingMessage): void {
  pendingContinues.get(request)?.writeContinue()
  pendingContinues.delete(request)
}

/** Applies the limits for files to the body of a request. Must be called only after authentication. */
export function allowUpload(request: IncomingMessage): void {
  const body = watchedBodies.get(request)
  body?.watch(body.upload)
}

/**
 * Returns a signal that aborts with a `SlowBody` when the body of a request is too slow; undefined if there is no body.
 * The caller must then answer in its own form and close the connection.
 */
export function slowBodyOf(request: IncomingMessage): AbortSignal | undefined {
  const body = watchedBodies.get(request)
  if (body !== undefined) body.isAnsweredByListener = true
  return body?.tooSlow.signal
}

/** Returns why a request is refused: a proxy could read it as another request, or as a request to another host. */
function problemOf({ httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return `HTTP/${httpVersion}`
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length
  if (hosts > 1) return 'several Host headers'
  return hosts === 0 && httpVersion === '1.1' ? 'no Host header' : undefined
}

function endWhenSlow(server: Server, request: IncomingMessage, response: ServerResponse, policy: ClientPolicy): void {
  const { headers, socket } = request
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return
  let current: BodyWatch | undefined
  const body: WatchedBody = {
    watch(limits) {
      current?.stop()
      current = watchBody(request, limits)
      const { signal } = current
      signal.addEventListener('abort', () => body.tooSlow.abort(signal.reason))
    },
    upload: policy.upload,
    tooSlow: new AbortController(),
    isAnsweredByListener: false,
  }
  body.tooSlow.signal.addEventListener('abort', () => {
    if (response.headersSent) socket.destroy()
    else if (!body.isAnsweredByListener) refuse(server, socket, 'ERR_HTTP_REQUEST_TIMEOUT', 'the body is too slow')
  })
  body.watch(policy.body)
  watchedBodies.set(request, body)
  response.once('finish', () => {
    current?.stop()
    watchedBodies.delete(request)
    endDrain(request, policy.drain)
  })
}

/**
 * Drops the bytes that a client sends after its answer. Ends the connection if they are too slow, take too long or are
 * too many.
 */
function endDrain(request: IncomingMessage, { bytes, ...limits }: ClientPolicy['drain']): void {
  if (request.complete) return
  const { socket } = request
  watchBody(request, limits).signal.addEventListener('abort', () => socket.destroy())
  let dropped = 0
  request.on('data', (chunk: Buffer) => {
    dropped += chunk.length
    if (dropped > bytes) socket.destroy()
  })
  request.resume()
}

function refuse(server: Server, socket: Socket, code: string, problem: string): void {
  const error = Object.assign(new Error(problem), { code })
  if (server.emit('clientError', error, socket)) return
  const status = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? '408 Request Timeout' : '400 Bad Request'
  if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`)
  socket.destroySoon()
}
