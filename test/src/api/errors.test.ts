import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { registerToken } from '@sluice/accounts'
import { limits } from '@sluice/contract'
import { beforeAll, describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type App, openApp, openTestApi, send } from './test-api.ts'

const api = openBeforeAll(openTestApi)
let app: App
let port: number
beforeAll(async () => {
  port = Number(new URL(await api.api.listen({ host: '127.0.0.1', port: 0 })).port)
  app = await openApp(api)
})

const endpoints = [
  { method: 'POST', path: '/v2/user_profiles' },
  { method: 'POST', path: '/v2/user_profiles/bulk_import' },
  { method: 'POST', path: '/v3/user_profiles/bulk_import' },
  { method: 'GET', path: `/v3/user_profiles/bulk_import/${crypto.randomUUID()}` },
  { method: 'POST', path: '/v1/users' },
] as const

const notFound = { status: 404, body: { status: 'not_found', error: { messages: ['Not found.'] } } }

// service.md, Errors; design.md §3, Token missing; design.md §3, Error bodies.
describe('404', () => {
  test.each(['/v1', '/v2/user_profiles/', '/V2/user_profiles', '/v3/user_profiles', '/v2//user_profiles', '/%zz'])(
    'an unknown path: %s',
    async (path) => {
      expect(await send(api, app, path, {})).toMatchObject(notFound)
      expect(await send(api, undefined, path, undefined, { method: 'GET' })).toMatchObject(notFound)
    },
  )

  test.each(['{', 'x'.repeat(2 ** 21)])('an unknown path, whatever the body', async (body) => {
    expect(await send(api, app, '/v1/nothing', body)).toMatchObject(notFound)
    expect(await send(api, app, '/v1/nothing', body, { headers: { 'content-type': 'x' } })).toMatchObject(notFound)
  })

  const methods = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'POST', 'TRACE', 'PROPFIND', 'QUERY'] as const
  // design.md §3, Wrong method.
  test.each(endpoints)('another method on a known path: $method $path', async ({ method, path }) => {
    const both = path === '/v3/user_profiles/bulk_import' ? [method, 'GET'] : [method]
    const documented: string[] = both.includes('GET') ? [...both, 'HEAD'] : both
    for (const other of methods.filter((name) => !documented.includes(name))) {
      const answer = await api.api.inject({
        method: other as 'GET',
        url: path,
        headers: { 'x-service-token': app.token, origin: 'https://example.com' },
      })
      expect([other, answer.statusCode]).toEqual([other, 404])
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
      if (other !== 'HEAD') expect(answer.json()).toEqual(notFound.body)
    }
  })
})

describe('HEAD is answered like GET, without the body:', () => {
  test.each([
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/docs',
    '/docs/api',
    '/docs/guide.md',
    '/llms.txt',
    '/',
    '/error_files/unknown',
    '/v1/profile_keys',
    '/v1/users/nobody',
    '/v3/user_profiles/bulk_import',
    `/v3/user_profiles/bulk_import/${crypto.randomUUID()}`,
    '/v1/exports/unknown',
  ])('%s', async (url) => {
    const headers = { 'x-service-token': app.token }
    const [get, head] = [
      await api.api.inject({ method: 'GET', url, headers }),
      await api.api.inject({ method: 'HEAD', url, headers }),
    ]
    expect([head.statusCode, head.headers['content-type']]).toEqual([get.statusCode, get.headers['content-type']])
    expect(head.body).toBe('')
    // The metrics have other figures each time.
    if (url !== '/metrics') expect(head.headers['content-length']).toBe(get.headers['content-length'])
  })
})

describe('a client that waits for 100 Continue', () => {
  const json = { 'Content-Type': 'application/json' }
  const csv = { 'Content-Type': 'text/csv' }

  /** Returns the status lines of the answers. The body is sent only after `100 Continue`. */
  async function statusesOf(path: string, headers: Record<string, string>, body: string): Promise<string[]> {
    const socket = connect(port, '127.0.0.1')
    const all = { Host: 'test', Expect: '100-continue', 'Content-Length': String(body.length), ...headers }
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
    const statuses: string[] = []
    for await (const chunk of socket) {
      statuses.push(...[...String(chunk).matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status = '']) => status))
      if (statuses.at(-1) !== '100') break
      socket.write(body)
    }
    socket.destroy()
    return statuses
  }

  test.each([
    ['401', '/v1/users', json],
    ['401', '/v2/user_profiles', json],
    ['401', '/v2/user_profiles/bulk_import', csv],
    ['401', '/v3/user_data_deletions', json],
    ['403', '/v2/user_profiles/bulk_import', { ...csv, 'X-Service-Token': 'x' }],
    ['404', '/v1/nothing', json],
  ])('gets %s of %s before it sends the body', async (status, path, headers) => {
    expect(await statusesOf(path, headers, 'x')).toEqual([status])
  })

  test.each([
    ['413', '/v1/users', { ...json, 'Content-Length': String(limits.userIdListBytes + 1) }],
    ['413', '/v2/user_profiles/bulk_import', { ...csv, 'Content-Length': String(limits.uploadBytesV2 + 1) }],
    ['415', '/v1/users', csv],
    ['415', '/v2/user_profiles/bulk_import', json],
    ['415', '/v2/user_profiles', { ...json, 'Content-Encoding': 'gzip' }],
  ])('gets %s of %s before it sends the body, with a token', async (status, path, headers) => {
    expect(await statusesOf(path, { 'X-Service-Token': app.token, ...headers }, 'x')).toEqual([status])
  })

  test.each([
    ['/v1/users', json, '{"user_ids":["u"]}'],
    ['/v2/user_profiles/bulk_import', csv, 'user_id,n\nu,1\n'],
  ])('is asked for the body by %s if the request is acceptable', async (path, headers, body) => {
    expect(await statusesOf(path, { 'X-Service-Token': app.token, ...headers }, body)).toEqual(['100', '202'])
  })
})

test.each(['/v2/user_profiles', '/v1/users', '/v3/user_data_deletions', '/v3/user_profiles/bulk_import'])(
  '%s refuses a compressed body with 415, and accepts `identity`',
  async (path) => {
    for (const encoding of ['gzip', 'br', 'x', 'gzip, identity']) {
      expect(await send(api, app, path, {}, { headers: { 'content-encoding': encoding } })).toMatchObject({
        status: 415,
        body: { error: { messages: [`The given content encoding is not supported: ${encoding}`] } },
      })
    }
    expect((await send(api, app, path, {}, { headers: { 'content-encoding': 'Identity' } })).status).toBe(400)
  },
)

// service.md, Authentication 3.
describe('authentication', () => {
  test.each(endpoints)('$method $path needs a token', async ({ method, path }) => {
    const unauthorized = { status: 401, body: { status: 'unauthorized', error: { messages: [expect.any(String)] } } }
    const answer = await send(api, undefined, path, undefined, { method })
    expect(answer).toMatchObject(unauthorized)
    expect(answer.headers['www-authenticate']).toBe('X-Service-Token realm="Sluice"')
    const empty = { appId: 0, token: '' }
    expect(await send(api, empty, path, undefined, { method })).toMatchObject(unauthorized)
  })

  test.each(endpoints)('$method $path refuses an invalid token', async ({ method, path }) => {
    const replaced = await openApp(api)
    await registerToken(api.database.db, replaced.appId)
    const wrong = [
      replaced.token,
      app.token.slice(0, -1),
      `${app.token} `,
      app.token.toUpperCase(),
      app.token.replace(/^slc_\d+/, `slc_${replaced.appId}`),
      createHash('sha256').update(app.token).digest('hex'),
      'slc_999999999_'.padEnd(57, 'x'),
      '\u00e9',
    ]
    for (const token of wrong) {
      expect(await send(api, { appId: 0, token }, path, undefined, { method })).toMatchObject({
        status: 403,
        body: { status: 'forbidden', error: { messages: [expect.any(String)] } },
      })
    }
  })

  test('the token that was issued last works at once', async () => {
    const renewed = await openApp(api)
    const token = await registerToken(api.database.db, renewed.appId)
    expect((await send(api, { ...renewed, token }, '/v1/users', { user_ids: ['u'] })).status).toBe(202)
  })
})

test('another app’s import does not exist', async () => {
  const other = await openApp(api)
  const headers = { 'content-type': 'text/csv' }
  const received = await send(api, other, '/v2/user_profiles/bulk_import', 'user_id,n\nu,1\n', { headers })
  const path = `/v3/user_profiles/bulk_import/${received.headers['x-import-id']}`
  expect((await send(api, other, path, undefined, { method: 'GET' })).status).toBe(200)
  expect(await send(api, app, path, undefined, { method: 'GET' })).toMatchObject(notFound)
})

// changes.md §3, Asking for it.
test.each([undefined, 'application/json'])(
  'a request whose body is optional needs none: Content-Type %s',
  async (type) => {
    const path = `/v3/user_profiles/bulk_import/${crypto.randomUUID()}/undo`
    expect(await send(api, app, path, undefined, { headers: { 'content-type': type } })).toMatchObject(notFound)
  },
)

test('a client whose JSON is too large reads the answer though it sends on, and the connection survives', async () => {
  const socket = connect(port, '127.0.0.1')
  const answers = text(socket)
  const length = 20 * 2 ** 20
  socket.write(`POST /v2/user_profiles HTTP/1.1\r\nHost: test\r\nX-Service-Token: ${app.token}\r\n`)
  socket.write(`Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`)
  socket.write(Buffer.alloc(length, ' '))
  socket.end('GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n')
  expect(await answers).toMatch(/^HTTP\/1\.1 413 .*The request body is over 1048576 bytes.*HTTP\/1\.1 200 /s)
})
