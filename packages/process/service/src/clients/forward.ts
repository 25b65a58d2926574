import { once } from 'node:events'
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestHttp,
  type ServerResponse,
} from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { continueBody } from './server.ts'

/** How often a request has been forwarded. */
const forwardedHeader = 'sluice-forwarded-by-cell'

/** Headers that concern a single connection, so they are not forwarded (RFC 9110, Section 7.6.1). */
const hopByHopHeaders = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade']

/** A connection to another server times out after this time without any data, ms. */
const silenceMs = 60_000

/** Forwards requests to other servers of the same kind. */
export interface Forwarder {
  /**
   * Sends a request on to the server at an address, with its body as it arrives. The other server asks for the body,
   * and `onBody` is called, after it has accepted the head. Returns its answer for {@link passBack}; rejects if the
   * server cannot be reached.
   */
  send(request: IncomingMessage, address: string, onBody?: () => void): Promise<IncomingMessage>
}

/** Returns how often a request has been forwarded. */
export function forwardsOf({ headers }: IncomingMessage): number {
  const forwarded = headers[forwardedHeader]
  return forwarded === undefined ? 0 : Number(forwarded) || 1
}

/** Opens connections to other servers, as they are needed. Idle ones keep no process alive. */
export function openForwarder(): Forwarder {
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) }
  return {
    async send(request, address, onBody) {
      const forwarding = forward(request, address, agents)
      forwarding.once('continue', () => {
        onBody?.()
        continueBody(request)
        request.pipe(forwarding)
      })
      const [answer] = (await once(forwarding, 'response')) as [IncomingMessage]
      request.unpipe(forwarding)
      return answer
    },
  }
}

/** Passes the answer of another server on as it arrives. Breaks the connection if the answer breaks off. */
export async function passBack(answer: IncomingMessage, response: ServerResponse): Promise<void> {
  response.writeHead(answer.statusCode ?? 502, withoutHopByHop(answer.headers))
  await pipeline(answer, response).catch(() => response.destroy())
}

/**
 * Sends the head of a request. The other server answers it with `continue` or with a response: a refusal that arrives
 * while the body is sent could be lost.
 */
function forward(
  incoming: IncomingMessage,
  address: string,
  agents: { http: HttpAgent; https: HttpsAgent },
): ClientRequest {
  const isSecure = address.startsWith('https:')
  const hasBody = 'content-length' in incoming.headers || 'transfer-encoding' in incoming.headers
  const outgoing = (isSecure ? requestHttps : requestHttp)(address, {
    method: incoming.method,
    // As it came: joined with the address, a target such as `http://host/` would name no address or another one.
    path: incoming.url,
    headers: {
      ...withoutHopByHop(incoming.headers),
      [forwardedHeader]: String(forwardsOf(incoming) + 1),
      ...(hasBody ? { expect: '100-continue' } : { 'content-length': 0 }),
    },
    agent: isSecure ? agents.https : agents.http,
    timeout: silenceMs,
  })
  outgoing.on('timeout', () => outgoing.destroy(new Error(`${address} does not answer`)))
  outgoing.on('error', () => {}) // also after the answer, when the other server does not want the rest of the body
  incoming.once('close', () => {
    if (!incoming.complete) outgoing.destroy()
  })
  if (hasBody) outgoing.flushHeaders()
  else outgoing.end()
  return outgoing
}

function withoutHopByHop(headers: NodeJS.Dict<string | string[]>): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHopHeaders.includes(name)))
}
