import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type ClientPolicy, clientPolicy } from './policy.ts'
import { type BodyLimits, type BodyWatch, watchBody } from './slow-bodies.ts'
import { boundWaitingConnections } from './waiting-connections.ts'

type Listener = (request: IncomingMessage, response: ServerResponse) => void

interface ClientServerOptions {
  policy?: ClientPolicy
  /** The listener decides itself when a client that asks for it is told to send its body. */
  holdsContinue?: boolean
}

/** The body of a request that is being watched. */
interface WatchedBody {
  /** Begins anew, with other limits. */
  watch(limits: BodyLimits): void
  /** The limits of a file. */
  upload: BodyLimits
  /** Aborts when the body is too slow. */
  tooSlow: AbortController
  /** The listener answers then. */
  isAnsweredByListener: boolean
}

const watchedBodies = new WeakMap<IncomingMessage, WatchedBody>()

/**
 * Creates the HTTP server of every app: it ends connections of clients that are too slow, bounds those that wait, and refuses
 * requests that clients and proxies could read differently. What `policy` says holds for all requests.
 *
 * A refusal is a `clientError`, as Node's own are: without a listener for it, the answer is a bare 400 or 408.
 */
export function createClientServer(
  listener: Listener,
  { policy = clientPolicy, holdsContinue = false }: ClientServerOptions = {},
): Server {
  const connections = boundWaitingConnections(policy.waiting)
  const serve: Listener = (request, response) => {
    connections.serving(request.socket, response)
    const problem = problemOf(request)
    if (problem !== undefined) return refuse(server, request.socket, 'HPE_INVALID_CONSTANT', problem)
    endWhenSlow(server, request, response, policy)
    listener(request, response)
  }
  const server = createServer(
    {
      maxHeaderSize: policy.headerBytes,
      headersTimeout: policy.headersMs,
      connectionsCheckingInterval: Math.min(1_000, policy.headersMs / 2),
      keepAliveTimeout: policy.keepAliveMs,
      // Bodies are watched: how long a request may take depends on what it brings.
      requestTimeout: 0,
      requireHostHeader: false,
    },
    serve,
  )
  if (holdsContinue) server.on('checkContinue', serve)
  server.on('connection', (socket: Socket) => connections.opened(socket))
  return server
}

/** Lets the body of a request take as long as a file may. Call it only after the client is known. */
export function allowUpload(request: IncomingMessage): void {
  const body = watchedBodies.get(request)
  body?.watch(body.upload)
}

/**
 * Returns a signal that aborts with a `SlowBody` when the body of a request comes too slowly; undefined if there is no body.
 * From then on the caller answers, in its own form, and closes the connection.
 */
export function slowBodyOf(request: IncomingMessage): AbortSignal | undefined {
  const body = watchedBodies.get(request)
  if (body !== undefined) body.isAnsweredByListener = true
  return body?.tooSlow.signal
}

/** Why a request is not served: a proxy could take it for another one, or for one to another host. */
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

/** Drops what a client still sends after its answer, and ends its connection if that is too slow, too long or too much. */
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
