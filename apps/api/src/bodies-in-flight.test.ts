import { once } from 'node:events'
import { connect } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { limitBodiesInFlight } from './bodies-in-flight.ts'
import { parseBodies } from './request-body.ts'

/** Number of bodies of the largest size that an app may have in flight. */
const bodiesPerApp = 2
const bodyBytes = 900_000

let api: FastifyInstance
let url: string
/** Called with each request whose client has disconnected before its body was looked at. */
let disconnected: () => void

beforeEach(async () => {
  api = Fastify({ bodyLimit: bodyBytes, forceCloseConnections: true })
  api.decorateRequest('appId')
  api.decorateRequest('keyed')
  api.addHook('onRequest', async (request, reply) => {
    request.appId = 1
    if (request.headers['x-leaves'] === undefined) return
    if (!reply.raw.closed) await once(reply.raw, 'close')
    disconnected()
  })
  limitBodiesInFlight(api, { API_BODY_BUDGET: 3 * bodiesPerApp * bodyBytes })
  parseBodies(api)
  api.post('/', async (_, reply) => ({ closeListeners: reply.raw.listenerCount('close') }))
  url = await api.listen({ host: '127.0.0.1', port: 0 })
})
afterEach(() => api.close())

/** Sends a request that announces a large body, and disconnects before the API looks at it. */
async function leaveEarly(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  disconnected = resolve
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  const head = ['POST / HTTP/1.1', 'Host: a', 'Content-Type: application/json', `Content-Length: ${bodyBytes}`]
  socket.write([...head, 'X-Leaves: 1', '', '['].join('\r\n'))
  socket.destroy()
  await promise
}

/** Sends a body of the largest size, and returns the answer. */
async function sendLargeBody(options: RequestInit = {}): Promise<{ status: number; closeListeners?: number }> {
  const body = JSON.stringify(['x'.repeat(bodyBytes - 4)])
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body, ...options })
  return { status: answer.status, ...((await answer.json()) as object) }
}

test('a client that disconnects before its body is looked at holds no share afterwards', async () => {
  for (let request = 0; request <= bodiesPerApp; request++) await leaveEarly()
  expect(await sendLargeBody()).toMatchObject({ status: 200 })
})

test('a body of unknown length, however many its chunks, costs no more listeners than another body', async () => {
  const { closeListeners } = await sendLargeBody()
  const body = new Blob([JSON.stringify(['x'.repeat(bodyBytes - 4)])]).stream()
  const chunked = await sendLargeBody({ body, duplex: 'half' })
  expect(chunked).toEqual({ status: 200, closeListeners })
})
