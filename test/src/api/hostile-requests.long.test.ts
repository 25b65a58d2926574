import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type App, everything, openApp, openTestApi } from './test-api.ts'

// Whatever a client sends, the API answers, never with a 5xx, and a refused request leaves the database unchanged.
const api = openBeforeAll(() => openTestApi({ PROFILE_KEY_LIMIT: '20' }))
let app: App
let url: string
beforeAll(async () => {
  app = await openApp(api, ['u1'])
  url = await api.api.listen({ host: '127.0.0.1', port: 0 })
})

/** Returns how many requests a property test sends: `PROPERTY_RUNS` if it is set, otherwise `usual`. */
const runs = (usual: number) => Number(process.env.PROPERTY_RUNS ?? usual)

interface HostileRequest {
  method?: string
  path: string
  headers?: Record<string, string>
  body: Buffer | string
}

/** Sends a request over its own connection, chunked. Throws if the server does not answer within 10 s. */
async function send({ method = 'POST', path, headers = {}, body }: HostileRequest) {
  const signal = AbortSignal.timeout(10_000)
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  const all = { 'X-Service-Token': app.token, 'Content-Type': 'application/json', ...headers }
  const request = httpRequest(url + path, { method, headers: all, signal, agent: false }, (response) => {
    text(response).then((answer) => resolve({ status: response.statusCode ?? 0, body: answer }), reject)
  })
  request.on('error', reject)
  request.end(body)
  return await promise
}

/** Sends a request and checks the rules that hold for every answer. Returns the status. */
async function survives(request: HostileRequest): Promise<number> {
  const before = await everything(api)
  const { status, body } = await send(request)
  expect(status).toBeLessThan(500)
  if (status < 400) return status
  expect(await everything(api)).toEqual(before)
  const isPlainText = status === 415 && request.path.startsWith('/v2/user_profiles/bulk_import')
  if (!isPlainText && request.method !== 'HEAD') {
    const { messages } = JSON.parse(body).error
    expect(messages.length).toBeGreaterThan(0)
    for (const message of messages) expect(message).toEqual(expect.any(String))
  }
  return status
}

const strange = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '\0', '\ud800', '__proto__', '$name', 'u1'))
const value = fc.oneof(fc.jsonValue(), strange, fc.double())

/** Makes one of the `good` values in three of four cases, otherwise an arbitrary value. */
const nearly = <Value>(...good: Value[]) => fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...good) }, value)

const type = nearly('string', 'int', 'decimal', 'datetime')

const entry = fc.record(
  {
    key: nearly('k1', 'k2', 'k3', '__proto__'),
    type,
    value: nearly<unknown>('text', 7, 1.5, '2026-01-01T00:00:00Z'),
  },
  { requiredKeys: [] },
)

/** Generated bodies for each endpoint that accepts JSON: some are valid, most are invalid in a few places. */
const payloads = {
  '/v2/user_profiles': fc.record(
    {
      user_id: nearly('u1', 'nobody'),
      user_profiles: fc.oneof(fc.array(fc.oneof(entry, value), { maxLength: 4 }), value),
    },
    { requiredKeys: [] },
  ),
  '/v3/user_profiles/bulk_import': fc.record(
    {
      checksum: nearly('XrY7u+Ae7tCTyyK7j1rNww=='),
      byte_size: nearly<unknown>('12', 12, '0'),
      content_type: nearly('text/csv', 'application/gzip'),
      profile_types: fc.oneof(fc.dictionary(nearly('k1', 'zip', '__proto__').map(String), type), value),
      dry_run: nearly<unknown>(true, false, 'yes'),
      new_keys: nearly('register', 'refuse'),
      clear_marker: nearly('#N/A', 'a,b'),
      file_name: nearly('people.csv'),
    },
    { requiredKeys: [] },
  ),
  '/v1/profile_keys': fc.record(
    {
      profile_keys: fc.oneof(
        fc.array(fc.oneof(fc.record({ key: nearly('k1', 'zip'), type }, { requiredKeys: [] }), value), {
          maxLength: 4,
        }),
        value,
      ),
    },
    { requiredKeys: [] },
  ),
  '/v1/exports': fc.record(
    { keys: fc.oneof(fc.array(nearly('k1', 'zip'), { maxLength: 4 }), value) },
    { requiredKeys: [] },
  ),
  '/v3/user_data_deletions': fc.record(
    {
      identity_type: nearly('user_id'),
      identity_value: fc.oneof(fc.array(nearly('u1', 'nobody'), { maxLength: 4 }), value),
    },
    { requiredKeys: [] },
  ),
  '/v1/users': fc.record(
    { user_ids: fc.oneof(fc.array(nearly('a', 'b'), { maxLength: 4 }), value) },
    { requiredKeys: [] },
  ),
}

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
const headers = fc.record(
  {
    'Content-Type': fc.constantFrom(
      ...[
        'application/json',
        'application/json;charset=utf-8',
        'application/json; charset=x',
        'text/csv',
        'application/gzip',
      ],
      ...['text/plain', 'multipart/form-data', 'application/x-www-form-urlencoded', ';', '/', 'a/b;c="', '*/*', 'x'],
    ),
    'Content-Encoding': fc.constantFrom('gzip', 'identity', 'x'),
    'X-Service-Token': fc
      .oneof(fc.string({ maxLength: 80 }), fc.constant('slc_1_'))
      .map((token) => token.replace(/[^!-~]/g, '')),
    'X-Import-Id': fc.uuid(),
    'Idempotency-Key': fc.constantFrom('key-1', 'key-2', 'two words', 'é', 'x'.repeat(256)),
    Expect: fc.constant('100-continue'),
  },
  { requiredKeys: [] },
)

describe.each(Object.entries(payloads))('%s survives', (path, payload) => {
  test('JSON that is nearly valid', async () => {
    const seen = new Set<number>()
    const property = fc.asyncProperty(payload, async (body) => {
      seen.add(await survives({ path, body: JSON.stringify(body) }))
    })
    await fc.assert(property, { numRuns: runs(80) })
    expect([...seen]).toContain(400)
  })

  test('any JSON, any bytes and any headers', async () => {
    const body = fc.oneof(
      fc.json(),
      bytes,
      fc.string({ unit: 'binary' }),
      payload.map((good) => JSON.stringify(good)),
    )
    const property = fc.asyncProperty(body, headers, async (body, headers) => {
      await survives({ path, body, headers })
    })
    await fc.assert(property, { numRuns: runs(60) })
  })
})

describe('/v2/user_profiles/bulk_import survives', () => {
  const path = '/v2/user_profiles/bulk_import'
  const cell = fc.oneof(
    strange,
    fc.constantFrom('user_id', 'a', 'b', 'SERVICE_ERRORS', '1', '1.5', '2026-01-01', '"x"', '"'),
  )
  const csv = fc
    .array(fc.array(cell, { maxLength: 5 }), { maxLength: 5 })
    .map((rows) => Buffer.from(rows.map((row) => row.join(',')).join('\n')))
  const withHeader = csv.map((rows) => Buffer.concat([Buffer.from('user_id,a,b\n'), rows]))

  test('files that are nearly valid, gzip or not, and cut off', async () => {
    const file = fc.oneof(csv, withHeader, bytes)
    const seen = new Set<number>()
    const property = fc.asyncProperty(file, fc.boolean(), fc.nat({ max: 5 }), async (file, gzip, cut) => {
      const type = gzip ? 'application/gzip' : 'text/csv'
      const body = gzip ? gzipSync(file) : file
      const headers = { 'Content-Type': type }
      seen.add(await survives({ path, body: body.subarray(0, body.length - cut), headers }))
    })
    await fc.assert(property, { numRuns: runs(80) })
    expect([...seen].sort()).toEqual([202, 400])
  })

  test('any bytes and any headers', async () => {
    const property = fc.asyncProperty(fc.oneof(withHeader, bytes), headers, async (body, headers) => {
      await survives({ path, body, headers })
    })
    await fc.assert(property, { numRuns: runs(60) })
  })
})

test('the API survives any path and method, and nothing changes', async () => {
  const segment = fc.oneof(
    fc.constantFrom(
      'v1',
      'v2',
      'v3',
      'users',
      'user_profiles',
      'bulk_import',
      'error_files',
      'exports',
      'export_files',
      'profile_keys',
      'healthz',
      '..',
      '%00',
      '%ff',
    ),
    fc.webSegment(),
    fc.uuid(),
  )
  const path = fc.array(segment, { maxLength: 5 }).map((segments) => `/${segments.join('/')}`)
  const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'PROPFIND')
  const property = fc.asyncProperty(path, method, fc.webQueryParameters(), async (path, method, query) => {
    const before = await everything(api)
    const status = await survives({ path: `${path}?${query}`, method, body: '' })
    expect(await everything(api)).toEqual(before)
    // 302 leads from / to the documents.
    expect([200, 302, 400, 401, 404, 415]).toContain(status)
  })
  await fc.assert(property, { numRuns: runs(120) })
})

test('removing a value survives any user ID and key', async () => {
  const name = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => encodeURIComponent(text.toWellFormed())),
    fc.webSegment(),
    fc.constantFrom('u1', 'k1', '%00', '%ff', '%', '%ED%A0%80', '..', '%2e%2e', '%2F', 'x'.repeat(4000)),
  )
  const seen = new Set<number>()
  const property = fc.asyncProperty(name, name, async (userId, key) => {
    seen.add(await survives({ path: `/v1/users/${userId}/profiles/${key}`, method: 'DELETE', body: '' }))
  })
  await fc.assert(property, { numRuns: runs(120) })
  expect([...seen]).toContain(404)
})

test.each([
  '/error_files/%00',
  '/error_files/00000000-0000-4000-8000-000000000000%00.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  '/v3/user_profiles/bulk_import/%00',
  '/v3/user_profiles/bulk_import/00000000-0000-4000-8000-000000000000%00',
  '/v3/user_profiles/bulk_import/%ED%A0%80',
  '/error_files/%ED%A0%80',
])('%s, which Postgres would refuse, is answered 404', async (path) => {
  for (const method of ['GET', 'DELETE']) expect([400, 404]).toContain(await survives({ path, method, body: '' }))
})
