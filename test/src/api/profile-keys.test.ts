import { beforeAll, describe, expect, test } from 'vitest'
import { type App, everything, openApp, openTestApi, send, type TestApi } from './test-api.ts'

// GET and POST /v1/profile_keys.
const path = '/v1/profile_keys'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi({ PROFILE_KEY_LIMIT: '5' })
  return () => api.close()
})

type Keys = Record<string, string>

const register = (app: App, keys: Keys) =>
  send(api, app, path, { profile_keys: Object.entries(keys).map(([key, type]) => ({ key, type })) })

const list = (app: App) => send(api, app, path, undefined, { method: 'GET' })

const view = (key: string, type: string) => ({ key, type, registered_at: expect.stringMatching(/^\d{4}-.*Z$/) })

// second-day.md §1, Profile keys.
describe('200', () => {
  test('keys are registered with their types, in this app alone, and listed by the bytes of their names', async () => {
    const [app, other] = [await openApp(api), await openApp(api)]
    const sorted = { profile_keys: [view(' a', 'int'), view('B', 'decimal'), view('zip', 'string')] }
    expect(await register(app, { zip: 'string', B: 'decimal', ' a': 'int' })).toMatchObject({
      status: 200,
      body: sorted,
    })
    expect(await list(app)).toMatchObject({ status: 200, body: sorted })
    expect((await list(other)).body).toEqual({ profile_keys: [] })
  })

  test('a repeated registration changes nothing and answers the same', async () => {
    const app = await openApp(api)
    const first = await register(app, { zip: 'string' })
    const before = await everything(api)
    expect(await register(app, { zip: 'string' })).toMatchObject({ status: 200, body: first.body })
    expect(await everything(api)).toEqual(before)
  })

  test('the answer has only the keys of the request', async () => {
    const app = await openApp(api)
    await register(app, { zip: 'string' })
    expect((await register(app, { born: 'datetime' })).body).toEqual({ profile_keys: [view('born', 'datetime')] })
  })

  test('the limit of keys counts no key twice', async () => {
    const app = await openApp(api)
    const keys = { a: 'int', b: 'int', c: 'int', d: 'int', e: 'int' }
    expect((await register(app, keys)).status).toBe(200)
    expect((await register(app, keys)).status).toBe(200)
  })
})

describe('a refused registration registers none of its keys', () => {
  test('409 names each key that has another type', async () => {
    const app = await openApp(api)
    await register(app, { zip: 'int', born: 'datetime', age: 'int' })
    const before = await everything(api)
    const refused = await register(app, { zip: 'string', born: 'string', age: 'int', new: 'int' })
    const messages = ['zip is registered as int', 'born is registered as datetime']
    expect(refused).toMatchObject({ status: 409, body: { error: { messages } } })
    expect(await everything(api)).toEqual(before)
  })

  test('400 over the limit of keys', async () => {
    const app = await openApp(api)
    await register(app, { a: 'int', b: 'int', c: 'int' })
    const messages = ['This app has exceeded the limit of enabled user profile(5)']
    const refused = await register(app, { a: 'int', d: 'int', e: 'int', f: 'int' })
    expect(refused).toMatchObject({ status: 400, body: { error: { messages } } })
    expect((await list(app)).body).toMatchObject({ profile_keys: { length: 3 } })
  })

  test('400 for a reserved name beside a valid key', async () => {
    const app = await openApp(api)
    const refused = await register(app, { zip: 'string', $name: 'string' })
    expect(refused).toMatchObject({ status: 400, body: { error: { messages: ['$name is a reserved name'] } } })
    expect((await list(app)).body).toEqual({ profile_keys: [] })
  })
})

describe('404: a registered key cannot be deleted or changed', () => {
  test.each(
    (['DELETE', 'PUT', 'PATCH'] as const).flatMap((method) =>
      [path, `${path}/zip`].map((url) => [method, url] as const),
    ),
  )('%s %s', async (method, url) => {
    const app = await openApp(api)
    await register(app, { zip: 'string' })
    const before = await everything(api)
    const payload = { profile_keys: [{ key: 'zip', type: 'int' }] }
    const { statusCode } = await api.api.inject({ method, url, payload, headers: { 'x-service-token': app.token } })
    expect(statusCode).toBe(404)
    expect(await everything(api)).toEqual(before)
  })
})

test('of requests at the same moment with different types for a key, one wins and the others are refused', async () => {
  const app = await openApp(api)
  const types = ['string', 'int', 'decimal', 'datetime']
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => register(app, { k: types[index % 4] ?? '' })),
  )
  const { body } = await list(app)
  const winner = (body as { profile_keys: { type: string }[] }).profile_keys[0]?.type ?? ''
  expect(answers.map(({ status }) => status)).toEqual(
    answers.map((_, index) => (types[index % 4] === winner ? 200 : 409)),
  )
})
