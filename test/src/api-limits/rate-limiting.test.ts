import { createApp, registerToken } from '@sluice/accounts'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { type ApiProcess, startApi } from './api-process.ts'
import { describeStores } from './describe-stores.ts'
import { type InterruptedLink, openLink } from './interrupted-link.ts'

const bulkImport = '/v3/user_profiles/bulk_import'
const declaration = { checksum: 'XrY7u+Ae7tCTyyK7j1rNww==', byte_size: '12' }
const limits = { RATE_LIMIT_BULK_IMPORT: '3/60s', RATE_LIMIT_IMPORT_STATUS: '100/60s' }

const database = openBeforeAll(openTestDatabase)

async function newToken(): Promise<string> {
  const { apiToken } = await createApp(database.db, { name: 'Test', email: 'member@example.com' })
  return apiToken
}

function post(url: string, token: string | undefined, body: string = JSON.stringify(declaration)): Promise<Response> {
  const headers = { 'Content-Type': 'application/json', ...(token !== undefined && { 'X-Service-Token': token }) }
  return fetch(url + bulkImport, { method: 'POST', headers, body })
}

const rateHeaders = ({ headers }: Response) =>
  ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) => headers.get(name))

// design.md §3, Rate limits.
describeStores('two API processes with their counts', (store) => {
  const settings = store === 'Redis' ? { REDIS_URL: inject('redisUrl') ?? '' } : {}
  let apis: [ApiProcess, ApiProcess]
  beforeAll(async () => {
    // Every request must be counted, however busy the machine is.
    const env = { ...limits, RATE_LIMIT_TIMEOUT: '10s', ...settings }
    apis = await Promise.all([startApi(database.url, env), startApi(database.url, env)])
  })
  afterAll(async () => {
    await Promise.all(apis.map((api) => api.stop()))
  })

  // service.md, Rate rules.
  test('every answer states the limit, the remaining requests, and when the window ends', async () => {
    const token = await newToken()
    const before = Math.floor(Date.now() / 1000)
    const first = await post(apis[0].url, token)
    const [limit, remaining, reset] = rateHeaders(first)
    expect([first.status, limit, remaining]).toEqual([200, '3', '2'])
    expect(reset).toMatch(/^\d+$/)
    expect(Number(reset)).toBeGreaterThanOrEqual(before + 60)
    expect(Number(reset)).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 60)

    const second = await post(apis[1].url, token)
    expect(rateHeaders(second).slice(0, 2)).toEqual(['3', '1'])
    expect(Math.abs(Number(rateHeaders(second)[2]) - Number(reset))).toBeLessThanOrEqual(1)
  })

  test('refused requests get the same headers, whatever is wrong with them', async () => {
    const token = await newToken()
    const invalid = await post(apis[0].url, token, '{}')
    const broken = await post(apis[1].url, token, '{')
    const wrongType = await fetch(apis[0].url + bulkImport, {
      method: 'POST',
      headers: { 'Content-Type': 'text/csv', 'X-Service-Token': token },
      body: 'a',
    })
    expect([invalid.status, broken.status, wrongType.status]).toEqual([400, 400, 415])
    expect([invalid, broken, wrongType].map((answer) => rateHeaders(answer)[1])).toEqual(['2', '1', '0'])
    const unknown = async (method: string) =>
      await fetch(`${apis[0].url}${bulkImport}/nothing`, { method, headers: { 'X-Service-Token': token } })
    for (const [method, left] of Object.entries({ GET: '99', HEAD: '98' })) {
      const answer = await unknown(method)
      expect([answer.status, ...rateHeaders(answer).slice(0, 2)]).toEqual([404, '100', left])
    }
  })

  // service.md, Errors: 429; service.md, Rate rules.
  test('over the limit, every process answers 429 with the time to wait, and does nothing', async () => {
    const [token, other] = [await newToken(), await newToken()]
    for (const api of [apis[0], apis[1], apis[0]]) expect((await post(api.url, token)).status).toBe(200)
    const refused = await post(apis[1].url, token)
    const wait = refused.headers.get('retry-after')
    expect(refused.status).toBe(429)
    expect(Number(wait)).toBeGreaterThan(50)
    expect(Number(wait)).toBeLessThanOrEqual(60)
    expect(rateHeaders(refused).slice(0, 2)).toEqual(['3', '0'])
    expect(refused.headers.get('x-import-id')).toBeNull()
    expect(await refused.json()).toEqual({
      status: 'too_many_requests',
      error: { messages: [`Requests came too quickly. Please wait ${wait} seconds.`] },
    })
    expect((await post(apis[1].url, other)).status, 'another app').toBe(200)
    const status = await fetch(`${apis[1].url}${bulkImport}/nothing`, { headers: { 'X-Service-Token': token } })
    expect(status.status, 'another function').toBe(404)
    expect(await (await fetch(`${apis[1].url}/metrics`)).text()).toMatch(
      /^sluice_rate_limited_requests_total\{function="bulk_import"\} [1-9]/m,
    )
  })

  test('requests that fail authentication are not counted, and get no headers', async () => {
    for (const [token, status] of [
      [undefined, 401],
      ['slc_1_wrong', 403],
    ] as const) {
      const answer = await post(apis[0].url, token)
      expect([answer.status, ...rateHeaders(answer)]).toEqual([status, null, null, null])
    }
  })

  // design.md §3, Rate limits.
  test('a newly registered token of an app starts its own count', async () => {
    const { appId, apiToken } = await createApp(database.db, { name: 'Test', email: 'member@example.com' })
    for (const api of [...apis, ...apis]) await post(api.url, apiToken)
    const token = await registerToken(database.db, appId)
    const answers = [await post(apis[0].url, token), await post(apis[1].url, token)]
    expect(answers.map((answer) => [answer.status, rateHeaders(answer)[1]])).toEqual([
      [200, '2'],
      [200, '1'],
    ])
  })

  test('a request is counted before its body is read', async () => {
    const token = await newToken()
    const answers = await Promise.all(Array.from({ length: 4 }, () => post(apis[0].url, token, '{'.repeat(2_000_000))))
    expect(answers.map(({ status }) => status).sort()).toEqual([413, 413, 413, 429])
  })
})

describe.runIf(inject('redisUrl') !== undefined)('during an outage of the store', () => {
  let link: InterruptedLink
  let api: ApiProcess
  beforeAll(async () => {
    link = await openLink(inject('redisUrl') ?? '')
    // A request that waited until this time is over would outlast its test.
    api = await startApi(database.url, { ...limits, REDIS_URL: link.url, RATE_LIMIT_TIMEOUT: '1m' })
  })
  afterAll(async () => {
    await api.stop()
    await link.close()
  })

  test('requests do not wait, and the process counts them; the log reports it once, a metric counts it', async () => {
    const token = await newToken()
    expect(rateHeaders(await post(api.url, token))[1]).toBe('2')
    await link.cut()
    for (let request = 0; request < 10; request++) {
      const answer = await post(api.url, token)
      expect([answer.status, ...rateHeaders(answer).slice(0, 2)]).toEqual(
        [
          [200, '3', '1'],
          [200, '3', '0'],
        ][request] ?? [429, '3', '0'],
      )
    }
    expect(api.log().match(/rate limits are counted by this process alone/g)).toHaveLength(1)
    expect(await (await fetch(`${api.url}/metrics`)).text()).toMatch(/^sluice_rate_limit_uncounted_requests_total 10$/m)
  })
})

test('a store that is too slow lets no request beyond the limit through', async () => {
  // Hardly any count arrives in time.
  const api = await startApi(database.url, { ...limits, RATE_LIMIT_TIMEOUT: '1ms' })
  const token = await newToken()
  const answers = await Promise.all(Array.from({ length: 40 }, () => post(api.url, token)))
  const passed = answers.filter(({ status }) => status === 200)
  expect(passed.length).toBeGreaterThan(0)
  expect(passed.length).toBeLessThanOrEqual(3)
  await api.stop()
})
