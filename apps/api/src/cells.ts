import { once } from 'node:events'
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestHttp,
} from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { pipeline } from 'node:stream/promises'
import type { cellRouter } from '@sluice/moves'
import { allowUpload, continueBody } from '@sluice/service'
import type { FastifyInstance } from 'fastify'
import { dropBody } from './request-body.ts'

/** How often a request has been forwarded. */
const forwardedHeader = 'sluice-forwarded-by-cell'

/** Headers that concern a single connection, so they are not forwarded (RFC 9110, Section 7.6.1). */
const hopByHopHeaders = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade']

/** A connection to another cell times out after this time without any data, ms. */
const silenceMs = 60_000

/**
 * Forwards each request whose token names an app in another cell to the API of that cell, which authenticates, counts
 * and answers it. `addressOf` returns the API's address for a token; undefined if this process is to answer.
 *
 * Bodies and answers are passed on as they arrive. If the other cell cannot be reached, the request fails (500).
 */
export function forwardToCells(api: FastifyInstance, addressOf: ReturnType<typeof cellRouter>): void {
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) }
  api.addHook('onClose', async () => {
    agents.http.destroy()
    agents.https.destroy()
  })
  api.addHook('onRequest', async (request, reply) => {
    const { 'x-service-token': token, [forwardedHeader]: forwarded } = request.headers
    const hops = forwarded === undefined ? 0 : Number(forwarded) || 1
    const address = typeof token === 'string' ? await addressOf(token, hops) : undefined
    if (address === undefined) return
    request.raw.headers['x-forwarded-for'] = request.ip
    request.raw.headers[forwardedHeader] = String(hops + 1)
    const forwarding = forward(request.raw, address, agents)
    // The other cell asks for the body after it has authenticated the request.
    forwarding.once('continue', () => {
      if (request.routeOptions.config.endpoint?.file !== undefined) allowUpload(request.raw)
      continueBody(request.raw)
      request.raw.pipe(forwarding)
    })
    const [response] = (await once(forwarding, 'response')) as [IncomingMessage]
    if (!request.raw.complete) {
      request.raw.unpipe(forwarding)
      dropBody(request)
    }
    reply.hijack()
    reply.raw.writeHead(response.statusCode ?? 502, withoutHopByHop(response.headers))
    await pipeline(response, reply.raw).catch(() => reply.raw.destroy())
    return reply
  })
}

/**
 * Sends the head of a request on to another API. The other API answers it with `continue` or with a response: a refusal
 * that arrives while the body is sent could be lost.
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
      ...(hasBody ? { expect: '100-continue' } : { 'content-length': 0 }),
    },
    agent: isSecure ? agents.https : agents.http,
    timeout: silenceMs,
  })
  outgoing.on('timeout', () => outgoing.destroy(new Error(`${address} does not answer`)))
  outgoing.on('error', () => {}) // also after the answer, when the other API does not want the rest of the body
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
