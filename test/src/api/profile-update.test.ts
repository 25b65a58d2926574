import { registeredKeys } from '@sluice/profiles'
import { describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type App, everything, openApp, openTestApi, profileOf, send } from './test-api.ts'

// POST /v2/user_profiles: each sentence of service.md and design.md §3 about it.
const path = '/v2/user_profiles'
const keyLimit = 6

const api = openBeforeAll(() => openTestApi({ PROFILE_KEY_LIMIT: String(keyLimit) }))

interface Entry {
  key: unknown
  type?: unknown
  value?: unknown
}

const update = (app: App, ...entries: Entry[]) => send(api, app, path, { user_id: 'u1', user_profiles: entries })
const keysOf = async ({ appId }: App) =>
  Object.fromEntries([...(await registeredKeys(api.database.db, appId))].map(([key, { type }]) => [key, type]))

describe('202', () => {
  // service.md, Endpoints 2.
  test('the answer echoes user and entries in the order given; answer and profile hold datetimes in UTC', async () => {
    const app = await openApp(api, ['u1'])
    const answer = await update(
      app,
      { key: 'name', type: 'string', value: ' Ann ' },
      { key: 'age', type: 'int', value: 34 },
      { key: 'score', type: 'decimal', value: 57.1 },
      { key: 'joined', type: 'datetime', value: '2026-01-01T00:30:00.5+09:00' },
    )
    expect(answer.status).toBe(202)
    expect(answer.body).toEqual({
      user_id: 'u1',
      user_profiles: [
        { key: 'name', type: 'string', value: ' Ann ' },
        { key: 'age', type: 'int', value: 34 },
        { key: 'score', type: 'decimal', value: 57.1 },
        { key: 'joined', type: 'datetime', value: '2025-12-31 15:30:00.500' },
      ],
    })
    const joined = '2025-12-31 15:30:00.500'
    expect(await profileOf(api, app, 'u1')).toEqual({ name: ' Ann ', age: 34, score: 57.1, joined })
    expect(await keysOf(app)).toEqual({ name: 'string', age: 'int', score: 'decimal', joined: 'datetime' })
  })

  test('keys that are not in the payload keep their values, and so do other users', async () => {
    const app = await openApp(api, ['u1', 'u2'])
    await update(app, { key: 'a', type: 'int', value: 1 }, { key: 'b', type: 'int', value: 1 })
    await update(app, { key: 'b', type: 'int', value: 2 })
    expect(await profileOf(api, app, 'u1')).toEqual({ a: 1, b: 2 })
    expect(await profileOf(api, app, 'u2')).toEqual({})
  })

  // service.md, Profile entry.
  test('the latest entry of a repeated key is applied, and all entries are echoed', async () => {
    const app = await openApp(api, ['u1'])
    const entries = [
      { key: 'a', type: 'int', value: 1 },
      { key: 'b', type: 'int', value: 7 },
      { key: 'a', type: 'int', value: 2 },
    ]
    expect(await update(app, ...entries)).toMatchObject({ status: 202, body: { user_profiles: entries } })
    expect(await profileOf(api, app, 'u1')).toEqual({ a: 2, b: 7 })
  })

  test('the latest entry also decides its key’s type, now and when the same payload is sent again', async () => {
    const app = await openApp(api, ['u1'])
    const entries = [
      { key: 'a', type: 'string', value: 'x' },
      { key: 'a', type: 'int', value: 2 },
    ]
    expect((await update(app, ...entries)).status).toBe(202)
    expect((await update(app, ...entries)).status).toBe(202)
    expect(await keysOf(app)).toEqual({ a: 'int' })
  })

  test('white space in keys is kept, and unusual names are allowed', async () => {
    const app = await openApp(api, ['u1'])
    const keys = [' a ', '__proto__', 'constructor', '名前', 'a"\\,\n']
    const entries = keys.map((key, value) => ({ key, type: 'int', value }))
    expect(await update(app, ...entries)).toMatchObject({ status: 202, body: { user_profiles: entries } })
    const profile = JSON.stringify(await profileOf(api, app, 'u1'))
    for (const [index, key] of keys.entries()) expect(profile).toContain(`${JSON.stringify(key)}:${index}`)
  })

  test.each([
    ['an empty string', { type: 'string', value: '' }, ''],
    ['255 characters of four bytes', { type: 'string', value: '😀'.repeat(255) }, '😀'.repeat(255)],
    ['a string with signs of hstore', { type: 'string', value: '"a"=>"b\\",\n' }, '"a"=>"b\\",\n'],
    ['the string NULL', { type: 'string', value: 'NULL' }, 'NULL'],
    ['the largest int', { type: 'int', value: 9007199254740991 }, 9007199254740991],
    ['an int as decimal', { type: 'decimal', value: 3 }, 3],
    ['a decimal with an exponent', { type: 'decimal', value: 1e21 }, 1e21],
    ['a very small decimal', { type: 'decimal', value: 5e-324 }, 5e-324],
    ['a very large decimal', { type: 'decimal', value: -1.7976931348623157e308 }, -1.7976931348623157e308],
    ['a datetime without seconds', { type: 'datetime', value: '2026-01-01T10:00Z' }, '2026-01-01 10:00:00.000'],
  ])('%s is stored and echoed', async (_, entry, stored) => {
    const app = await openApp(api, ['u1'])
    const answer = await update(app, { key: 'k', ...entry })
    expect(answer).toMatchObject({ status: 202, body: { user_profiles: [{ key: 'k', value: stored }] } })
    expect(await profileOf(api, app, 'u1')).toEqual({ k: stored })
  })

  test('undocumented members are ignored; a charset of UTF-8 and a byte order mark are accepted', async () => {
    const app = await openApp(api, ['u1'])
    const entry = { key: 'k', type: 'int', value: 1, note: [] }
    const body = `\ufeff${JSON.stringify({ __proto__: null, note: 1, user_id: 'u1', user_profiles: [entry] })}`
    const headers = { 'content-type': 'application/json; charset="UTF-8"' }
    expect(await send(api, app, path, body, { headers })).toMatchObject({
      status: 202,
      body: { user_id: 'u1', user_profiles: [{ key: 'k', type: 'int', value: 1 }] },
    })
  })

  test('an app may have as many keys as the limit, and its registered keys still work at the limit', async () => {
    const app = await openApp(api, ['u1'])
    const entries = Array.from({ length: keyLimit }, (_, index) => ({ key: `k${index}`, type: 'int', value: 1 }))
    expect((await update(app, ...entries)).status).toBe(202)
    expect((await update(app, ...entries.map((entry) => ({ ...entry, value: 2 })))).status).toBe(202)
  })
})

// service.md, Endpoints 2; service.md, Errors; design.md §3, Malformed JSON.
describe('400, nothing is applied', () => {
  const good = { key: 'fresh', type: 'int', value: 1 }

  /** Expects that a body is refused as given, for an app with the keys `name` (string) and `age` (int). */
  async function refused(body: unknown, code: number, ...messages: string[]) {
    const app = await openApp(api, ['u1'])
    await update(app, { key: 'name', type: 'string', value: 'x' }, { key: 'age', type: 'int', value: 1 })
    const before = await everything(api)
    const answer = await send(api, app, path, body)
    expect(answer).toMatchObject({ status: 400, body: { error: { code, messages } } })
    expect(Object.keys(answer.body as object)).toEqual(['error'])
    expect(await everything(api)).toEqual(before)
  }

  // service.md, Profile update request.
  describe('1001, the form of the payload', () => {
    test.each([
      ['no JSON', '{"user_id":', 'The request body is not valid JSON.'],
      ['empty', '', 'The request body is not valid JSON.'],
      ['not UTF-8', Buffer.from('{"user_id":"\xff"}', 'latin1'), 'The request body is not valid JSON.'],
      ['no object', [good], 'The request body must be a JSON object.'],
      ['endlessly nested', '['.repeat(100_000), 'The request body is not valid JSON.'],
      ['of too many values', '['.repeat(500_000), 'The request body has over 131072 values.'],
      ['deeply nested', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'The request body must be a JSON object.'],
      ['without user_id', { user_profiles: [good] }, 'param is missing or the value is empty: user_id'],
      ['without entries', { user_id: 'u1' }, 'param is missing or the value is empty: user_profiles'],
      ['with no entry', { user_id: 'u1', user_profiles: [] }, 'param is missing or the value is empty: user_profiles'],
      ['with a number among them', { user_id: 'u1', user_profiles: [good, 7] }, 'user_profiles[1] must be an object'],
      [
        'with its members hidden in a prototype',
        `{"__proto__": ${JSON.stringify({ user_id: 'u1', user_profiles: [good] })}, "user_profiles": [${JSON.stringify(good)}]}`,
        'param is missing or the value is empty: user_id',
      ],
    ])('%s', (_, body, message) => refused(body, 1001, message))
  })

  describe('1002, the user ID is not registered', () => {
    test.each([
      ['unknown', 'nobody'],
      ['with white space around it', ' u1 '],
      ['too long to be registered', 'x'.repeat(10_000)],
      ['with NUL', 'u1\0'],
      ['with half a character', 'u1\ud800'],
    ])('%s', (_, userId) => refused({ user_id: userId, user_profiles: [good] }, 1002, 'user_id is unregistered user'))

    // service.md, Profile update request.
    test('the user is registered in another app only', async () => {
      await openApp(api, ['stranger'])
      await refused({ user_id: 'stranger', user_profiles: [good] }, 1002, 'user_id is unregistered user')
    })
  })

  describe('1003, an entry', () => {
    test.each([
      ['key is null', { key: null }, 'user_profiles[1]: key must be a string'],
      ['key is empty', { key: '' }, 'user_profiles[1]: key must not be empty'],
      ['key is too long', { key: 'k'.repeat(256) }, `${'k'.repeat(255)}… should be at most 255 characters`],
      ['key holds NUL', { key: 'k\0' }, 'k\ufffd should not contain U+0000'],
      ['standard profile', { key: '$name' }, 'standard user profile cannot be updated: $name'],
      ['reserved name', { key: 'SERVICE_ERRORS' }, 'SERVICE_ERRORS is a reserved name'],
      ['type is missing', { type: undefined }, 'k should be of type string, int, decimal, datetime'],
      ['type is unknown', { type: 'integer' }, 'k should be of type string, int, decimal, datetime'],
      ['string is no string', { type: 'string', value: 7 }, 'k should be string'],
      ['string is too long', { type: 'string', value: 'x'.repeat(256) }, 'k should be at most 255 characters'],
      ['string holds NUL', { type: 'string', value: '\0' }, 'k should not contain U+0000'],
      ['string holds half a character', { type: 'string', value: '\udc00' }, 'k should not contain a lone surrogate'],
      ['int is text', { type: 'int', value: '12' }, 'k should be integer'],
      ['int has a fraction', { type: 'int', value: 1.5 }, 'k should be integer'],
      ['int is out of range', { type: 'int', value: 9007199254740992 }, 'k should be integer'],
      ['decimal is text', { type: 'decimal', value: '1.5' }, 'k should be decimal'],
      ['datetime is a number', { type: 'datetime', value: 0 }, 'k should be iso8601 format'],
      ['datetime has no offset', { type: 'datetime', value: '2026-01-01T10:00:00' }, 'k should be iso8601 format'],
      ['datetime is a date', { type: 'datetime', value: '2026-01-01' }, 'k should be iso8601 format'],
      ['datetime does not exist', { type: 'datetime', value: '2026-02-30T10:00:00Z' }, 'k should be iso8601 format'],
      ['key has another type', { key: 'name', type: 'int', value: 1 }, 'name is registered as string'],
    ])('%s', (_, wrong, message) => {
      const entries = [good, { key: 'k', type: 'int', value: 1, ...wrong }, good]
      return refused({ user_id: 'u1', user_profiles: entries }, 1003, message)
    })

    test.each([
      ['int', '4503599627370497.5', 'k should be integer'],
      ['int', '0.99999999999999999999', 'k should be integer'],
      ['int', '12.0', 'k should be integer'],
      ['decimal', '12345678901234567890', 'k should be decimal'],
      ['decimal', '1e999', 'k should be decimal'],
    ])('a number that a cell of a file could not have either: %s %s', (type, number, message) => {
      const body = `{"user_id":"u1","user_profiles":[{"key":"k","type":"${type}","value":${number}}]}`
      return refused(body, 1003, message)
    })

    test('a number in the place of an entry is no object', () =>
      refused('{"user_id":"u1","user_profiles":[1.50]}', 1001, 'user_profiles[0] must be an object'))

    test('an earlier entry of a repeated key', () => {
      const entries = [{ ...good, value: 'x' }, good]
      return refused({ user_id: 'u1', user_profiles: entries }, 1003, 'fresh should be integer')
    })

    test('every invalid entry is named', () => {
      const entries = [{ ...good, value: 'x' }, good, { key: '', type: 'int', value: 1 }]
      const messages = ['fresh should be integer', 'user_profiles[2]: key must not be empty'] as const
      return refused({ user_id: 'u1', user_profiles: entries }, 1003, ...messages)
    })

    test('a key over the limit of the app', () => {
      const entries = Array.from({ length: keyLimit - 1 }, (_, index) => ({ ...good, key: `k${index}` }))
      const message = `This app has exceeded the limit of enabled user profile(${keyLimit})`
      return refused({ user_id: 'u1', user_profiles: entries }, 1003, message)
    })
  })
})

describe('other answers', () => {
  const body = { user_id: 'u1', user_profiles: [{ key: 'k', type: 'int', value: 1 }] }

  test('401 without a token, 403 with an invalid one, whatever the body', async () => {
    expect(await send(api, undefined, path, '{')).toMatchObject({ status: 401, body: { status: 'unauthorized' } })
    const invalid = { appId: 0, token: 'slc_1_nonsense' }
    expect(await send(api, invalid, path, '{')).toMatchObject({ status: 403, body: { status: 'forbidden' } })
  })

  test('413 for a body over 1 MiB', async () => {
    const app = await openApp(api, ['u1'])
    const answer = await send(api, app, path, { ...body, note: 'x'.repeat(2 ** 20) })
    const messages = ['The request body is over 1048576 bytes.']
    expect(answer).toMatchObject({ status: 413, body: { error: { messages } } })
  })

  test.each(['text/csv', 'text/plain', 'application/json; charset=shift_jis', 'nonsense', undefined])(
    '415 for the content type %s',
    async (type) => {
      const app = await openApp(api, ['u1'])
      const answer = await send(api, app, path, body, { headers: { 'content-type': type } })
      const messages = [`The given content type is not supported: ${type ?? 'none'}`]
      expect(answer).toMatchObject({ status: 415, body: { error: { messages } } })
      expect(await profileOf(api, app, 'u1')).toEqual({})
    },
  )
})
