import { createApp } from '@sluice/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { type ApiProcess, startApi } from './api-process.ts'
import { type InterruptedLink, openLink } from './interrupted-link.ts'
import { sendRaw } from './raw-connection.ts'

const bulkImport = '/v3/user_profiles/bulk_import'
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const unreachable = { error: { messages: ['Something went wrong on our side. Please try again.'] } }

let database: TestDatabase
let link: InterruptedLink
let api: ApiProcess
let token: string
beforeAll(async () => {
  database = await openTestDatabase()
  link = await openLink(database.url)
  token = (await createApp(database.db, { name: 'Test', email: 'member@example.com' })).apiToken
  api = await startApi(link.url, { API_HEADERS_TIMEOUT: '1s', API_BODY_TIMEOUT: '1s', LOG_LEVEL: 'trace' })
})
afterAll(async () => {
  await api.stop()
  await link.close()
  await database.close()
})

const post = (length: string, path = bulkImport) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Service-Token: ${token}\r\nContent-Type: application/json\r\n${length}\r\n\r\n`

/** Returns the log line of a request. Throws if the ID was not made by the API. */
function logLineOf(requestId: string | null | undefined): Promise<string> {
  expect(requestId).toMatch(uuid)
  return until('the log line of the request', () => {
    const lines = api.log().split('\n')
    return lines.find((line) => line.includes(`"request_id":"${requestId}"`) && line.endsWith('}'))
  })
}

function* byteByByte(text: string) {
  for (const byte of text) yield byte
}

describe('slow clients', () => {
  const timedOut = { error: { messages: ['The request did not arrive in time.'] } }

  test.concurrent('headers that arrive byte by byte are answered 408 when their time is over', async () => {
    const answer = await sendRaw(api.url, byteByByte(post('Content-Length: 2')), { pause: 100 })
    expect([answer.status, JSON.parse(answer.body), answer.headers.connection]).toEqual([408, timedOut, 'close'])
    expect(answer.tookMs).toBeLessThan(6_000)
    await logLineOf(answer.headers['x-request-id'])
  })

  test.concurrent('a connection on which no byte arrives is closed as well', async () => {
    const answer = await sendRaw(api.url, [])
    expect(answer.tookMs).toBeLessThan(6_000)
  })

  test.concurrent.each([
    ['Content-Length: 1000', '['],
    ['Transfer-Encoding: chunked', '1\r\n[\r\n'],
  ])('a body that does not end is answered 408 (%s)', async (length, piece) => {
    const pieces = [post(length), ...Array.from({ length: 50 }, () => piece)]
    const answer = await sendRaw(api.url, pieces, { pause: 100 })
    expect([answer.status, JSON.parse(answer.body)]).toEqual([408, timedOut])
    await logLineOf(answer.headers['x-request-id'])
    expect(answer.tookMs).toBeGreaterThan(900)
    expect(answer.tookMs).toBeLessThan(4_000)
  })

  test.concurrent('a body that continues after its request was refused is cut off', async () => {
    const request = post('Transfer-Encoding: chunked').replace(token, 'slc_1_wrong')
    const answer = await sendRaw(api.url, [request, ...Array.from({ length: 80 }, () => '1\r\n{\r\n')], { pause: 100 })
    expect(answer.status).toBe(403)
    expect(answer.tookMs).toBeLessThan(4_000)
  })

  test.concurrent('a hundred slow clients do not delay other requests', async () => {
    const slow = Promise.all(Array.from({ length: 100 }, () => sendRaw(api.url, byteByByte(post('')), { pause: 100 })))
    for (let request = 0; request < 20; request++) {
      expect((await fetch(`${api.url}/healthz`, { signal: AbortSignal.timeout(1_000) })).status).toBe(200)
    }
    for (const answer of await slow) expect(answer.status).toBe(408)
  })
})

describe('requests that are not HTTP', () => {
  const malformed = { error: { messages: ['The request is not valid HTTP.'] } }

  test.each([
    ['no request line', 'GARBAGE\r\n\r\n'],
    ['bytes of another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc'],
    ['an unknown method', 'GRAB / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an unknown version', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost x\r\n\r\n'],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: x\0y\r\n\r\n'],
    ['a space in a header name', 'GET / HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a length that is no number', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'],
    ['a chunk of nonsense', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
  ])('%s is answered 400, and the connection ends', async (_, request) => {
    const answer = await sendRaw(api.url, [request])
    expect([answer.status, JSON.parse(answer.body)]).toEqual([400, malformed])
    expect(answer.headers).toMatchObject({ connection: 'close', 'x-content-type-options': 'nosniff' })
    await logLineOf(answer.headers['x-request-id'])
  })

  test.each([
    ['a header', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['an address', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['many headers', `GET / HTTP/1.1\r\nHost: x\r\n${'X-A: b\r\n'.repeat(3_000)}\r\n`],
  ])('%s over 16 KiB is answered 431', async (_, request) => {
    const answer = await sendRaw(api.url, [request])
    expect(answer.status).toBe(431)
    expect(JSON.parse(answer.body)).toEqual({ error: { messages: ['The request line and headers are too large.'] } })
    await logLineOf(answer.headers['x-request-id'])
  })
})

describe('answers', () => {
  test.each([
    ['an unknown path', 'GET', '/nothing', 404],
    ['a wrong method', 'DELETE', bulkImport, 404],
    ['an address that cannot be decoded', 'GET', '/%zz', 404],
    ['a part of an address that is too long', 'GET', `${bulkImport}/${'x'.repeat(4_000)}`, 404],
    ['a path that steps out', 'GET', '/..%2f..%2fetc/passwd', 404],
    ['no token', 'POST', bulkImport, 401],
    ['a good request', 'GET', '/healthz', 200],
  ])('%s: JSON that is neither sniffed nor stored, with a request ID of the API', async (_, method, path, status) => {
    const answer = await fetch(api.url + path, { method, headers: { 'X-Request-Id': 'mine', 'Request-Id': 'mine' } })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('x-request-id')).toMatch(uuid)
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    for (const name of ['server', 'x-powered-by']) expect(answer.headers.get(name)).toBeNull()
    expect(await answer.text()).not.toContain('passwd')
  })

  test.each([
    ['declared', 'Content-Length: 1048577', ''],
    ['sent in chunks', 'Transfer-Encoding: chunked', `100001\r\n${' '.repeat(1_048_577)}\r\n`],
  ])('a JSON body over the limit of its route is refused: %s', async (_, length, body) => {
    const answer = await sendRaw(api.url, [post(length), body])
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      413,
      { error: { messages: ['The request body is over 1048576 bytes.'] } },
    ])
  })

  test('an internal failure is reported without its cause', async () => {
    await link.cut()
    const answer = await fetch(`${api.url}${bulkImport}/x`, { headers: { 'X-Service-Token': token } })
    await link.restore()
    expect([answer.status, await answer.json()]).toEqual([500, unreachable])
    // Either an open connection breaks first, or a new one is refused first.
    await until('the cause in the log', () => /ECONNREFUSED|ECONNRESET|EPIPE|Connection terminated/.test(api.log()))
  })
})

describe('the log', () => {
  test('contains no token, wherever a client sent it, at any level', async () => {
    const headers = { 'X-Service-Token': token, Authorization: `Bearer ${token}`, Cookie: `t=${token}` }
    for (const path of [`/${token}`, `/error_files/${token}`, `${bulkImport}?token=${token}`, `/%zz${token}`]) {
      await fetch(api.url + path, { headers })
    }
    for (const body of [token, `{"${token}`, JSON.stringify({ checksum: token, byte_size: token })]) {
      const json = { ...headers, 'Content-Type': 'application/json' }
      await fetch(api.url + bulkImport, { method: 'POST', headers: json, body })
    }
    await fetch(api.url + bulkImport, { method: 'POST', headers: { ...headers, 'Content-Type': token }, body: token })
    await sendRaw(api.url, [`GET /${token} HTTP/1.1\r\nX-Service-Token ${token}\r\n\r\n`])
    await sendRaw(api.url, [`${token}\r\n\r\n`])
    await link.cut()
    await fetch(`${api.url}${bulkImport}/${token}`, { headers })
    await link.restore()

    const answer = await fetch(`${api.url}/nothing`)
    await logLineOf(answer.headers.get('x-request-id'))
    expect(api.log()).not.toContain(token)
    expect(api.log()).not.toContain(token.slice(-20))
  })

  test('names the request by the ID of its answer, with route, status and duration', async () => {
    const answer = await fetch(`${api.url}${bulkImport}/x?a=b`, { headers: { 'X-Service-Token': token } })
    expect(JSON.parse(await logLineOf(answer.headers.get('x-request-id')))).toMatchObject({
      msg: 'request',
      method: 'GET',
      route: `${bulkImport}/:import_id`,
      status: 404,
      ms: expect.any(Number),
      app_id: expect.any(Number),
    })
  })
})
