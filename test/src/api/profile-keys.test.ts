import { describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type App, everything, openApp, openTestApi, send } from './test-api.ts'

// GET, POST and PATCH /v1/profile_keys.
const path = '/v1/profile_keys'

const api = openBeforeAll(() => openTestApi({ PROFILE_KEY_LIMIT: '5' }))

type Keys = Record<string, string>

const register = (app: App, keys: Keys) =>
  send(api, app, path, { profile_keys: Object.entries(keys).map(([key, type]) => ({ key, type })) })

const list = (app: App) => send(api, app, path, undefined, { method: 'GET' })

const change = (app: App, key: string, body: unknown) =>
  send(api, app, `${path}/${encodeURIComponent(key)}`, body, { method: 'PATCH' })

const tooMany = { error: { messages: ['This app has exceeded the limit of enabled user profile(5)'] } }

const view = (key: string, type: string) => ({
  ...{ key, type, registered_at: expect.stringMatching(/^\d{4}-.*Z$/) },
  ...{ enabled: true, description: null },
})

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
    expect((await list(app)).body).toEqual({ ...sorted, limit: 5, enabled_keys: 3 })
    expect((await list(other)).body).toEqual({ profile_keys: [], limit: 5, enabled_keys: 0 })
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
    const refused = await register(app, { a: 'int', d: 'int', e: 'int', f: 'int' })
    expect(refused).toMatchObject({ status: 400, body: tooMany })
    expect((await list(app)).body).toMatchObject({ profile_keys: { length: 3 } })
  })

  test('400 for a reserved name beside a valid key', async () => {
    const app = await openApp(api)
    const refused = await register(app, { zip: 'string', $name: 'string' })
    expect(refused).toMatchObject({ status: 400, body: { error: { messages: ['$name is a reserved name'] } } })
    expect((await list(app)).body).toMatchObject({ profile_keys: [] })
  })
})

describe('404: a registered key cannot be deleted or get another type', () => {
  test.each([
    ...(['DELETE', 'PUT'] as const).flatMap((method) => [path, `${path}/zip`].map((url) => [method, url] as const)),
    ['PATCH', path] as const,
  ])('%s %s', async (method, url) => {
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

// changes.md §4.
describe('PATCH', () => {
  test('disables, enables and describes a key, and answers with its entry as the list has it', async () => {
    const app = await openApp(api)
    const key = 'a/b ü%'
    await register(app, { [key]: 'int', zip: 'string' })
    const entry = view(key, 'int')
    const steps: [unknown, object][] = [
      [
        { enabled: false, description: 'Unused' },
        { enabled: false, description: 'Unused' },
      ],
      [{ description: '😀'.repeat(255) }, { enabled: false, description: '😀'.repeat(255) }],
      [{ enabled: false }, { enabled: false, description: '😀'.repeat(255) }],
      [
        { enabled: true, description: '' },
        { enabled: true, description: null },
      ],
      [{ description: 'x' }, { enabled: true, description: 'x' }],
      [{ description: null }, { enabled: true, description: null }],
    ]
    for (const [body, expected] of steps) {
      expect(await change(app, key, body)).toMatchObject({ status: 200, body: { ...entry, ...expected } })
      expect((await list(app)).body).toMatchObject({
        profile_keys: [{ ...entry, ...expected }, view('zip', 'string')],
        enabled_keys: 'enabled' in expected && expected.enabled ? 2 : 1,
      })
    }
  })

  test.each([
    ['nothing', {}],
    ['another member', { enabled: true, type: 'int' }],
    ['no boolean', { enabled: 'false' }],
    ['null for enabled', { enabled: null }],
    ['a number', { description: 1 }],
    ['a text that is too long', { description: '😀'.repeat(256) }],
    ['a text that cannot be stored', { description: 'a\0' }],
    ['no object', []],
  ])('400 for %s, and the key stays as it is', async (_, body) => {
    const app = await openApp(api)
    await register(app, { zip: 'string' })
    expect((await change(app, 'zip', body)).status).toBe(400)
    expect((await list(app)).body).toMatchObject({ profile_keys: [view('zip', 'string')] })
  })

  test.each(['nothing', 'a\0', 'user_id'])('404 for %j, which is not registered here', async (key) => {
    const [app, other] = [await openApp(api), await openApp(api)]
    await register(other, { nothing: 'int' })
    expect((await change(app, key, { enabled: false })).status).toBe(404)
    expect((await list(other)).body).toMatchObject({ enabled_keys: 1 })
  })

  test('a disabled key makes room for another, and is enabled again only if there is room', async () => {
    const app = await openApp(api)
    await register(app, { a: 'int', b: 'int', c: 'int', d: 'int', e: 'int' })
    expect((await register(app, { f: 'int' })).status).toBe(400)
    await change(app, 'a', { enabled: false })
    expect((await register(app, { a: 'int', f: 'int' })).body).toMatchObject({
      profile_keys: [{ key: 'a', enabled: false }, { key: 'f' }],
    })
    expect(await change(app, 'a', { enabled: true })).toMatchObject({ status: 409, body: tooMany })
    expect((await change(app, 'b', { enabled: true })).status).toBe(200)
    expect((await register(app, { g: 'int' })).status).toBe(400)
    expect((await list(app)).body).toMatchObject({ limit: 5, enabled_keys: 5, profile_keys: { length: 6 } })
  })

  test('of many keys that are enabled at once, exactly one gets the last place', async () => {
    const app = await openApp(api)
    const all = ['a', 'b', 'c', 'd', 'e']
    await register(app, Object.fromEntries(all.map((key) => [key, 'int'])))
    for (const key of all) await change(app, key, { enabled: false })
    await register(app, { f: 'int', g: 'int', h: 'int', i: 'int' })
    const answers = await Promise.all(all.map((key) => change(app, key, { enabled: true })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409])
    expect((await list(app)).body).toMatchObject({ enabled_keys: 5 })
  })
})

// changes.md §4.
test('a disabled key: updates are refused, users and exports leave it out, and its value can be removed', async () => {
  const app = await openApp(api, ['u1', 'u2'])
  const update = (user: string, ...entries: object[]) =>
    send(api, app, '/v2/user_profiles', { user_id: user, user_profiles: entries })
  const [plan, zip] = [
    { key: 'plan', type: 'string', value: 'a' },
    { key: 'zip', type: 'string', value: '1' },
  ]
  for (const user of ['u1', 'u2']) await update(user, plan, zip)
  await change(app, 'plan', { enabled: false })
  const before = await everything(api)
  const refused = { status: 400, body: { error: { code: 1003, messages: ['plan is disabled'] } } }
  expect(await update('u1', { ...zip, value: '2' }, plan)).toMatchObject(refused)
  expect(await update('u1', { ...plan, type: 'int', value: 1 })).toMatchObject(refused)
  expect(await everything(api)).toEqual(before)
  // An update at the same moment that does not name the key is not refused.
  const [without, withKey] = await Promise.all([update('u1', { ...zip, value: '3' }), update('u2', plan)])
  expect([without.status, withKey.status]).toEqual([202, 400])
  expect(await send(api, app, '/v1/exports', { keys: ['zip', 'plan'] })).toMatchObject({
    status: 400,
    body: { error: { messages: ['plan is disabled'] } },
  })
  const user = async (id: string) =>
    ((await send(api, app, `/v1/users/${id}`, undefined, { method: 'GET' })).body as { profiles: object }).profiles
  expect(await user('u1')).toEqual({ zip: { type: 'string', value: '3' } })
  expect((await send(api, app, '/v1/users/u1/profiles/plan', undefined, { method: 'DELETE' })).status).toBe(204)
  await change(app, 'plan', { enabled: true })
  expect([await user('u1'), await user('u2')]).toMatchObject([{ zip: {} }, { plan: { value: 'a' } }])
  expect(await user('u1')).not.toHaveProperty('plan')
})
