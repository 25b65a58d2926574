import { describe, expect, test } from 'vitest'
import { userIdsIn } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { type App, everything, openApp, openTestApi, send } from './test-api.ts'

const path = '/v1/users'

const api = openBeforeAll(openTestApi)

const register = (app: App, userIds: unknown) => send(api, app, path, { user_ids: userIds })

const usersOf = ({ appId }: App) => userIdsIn(api.database, 'users', appId)

// design.md §3, Registering users.
describe('202', () => {
  // service.md, What the service does.
  test('the users are registered when the answer arrives, in this app alone', async () => {
    const [app, other] = [await openApp(api), await openApp(api)]
    expect(await register(app, ['b', ' a ', '名前', 'b'])).toMatchObject({ status: 202, body: { status: 'accepted' } })
    expect(await usersOf(app)).toEqual([' a ', 'b', '名前'])
    expect(await usersOf(other)).toEqual([])
  })

  test('registering a user again changes nothing about the user', async () => {
    const app = await openApp(api, ['u1'])
    const entry = { key: 'k', type: 'int', value: 1 }
    await send(api, app, '/v2/user_profiles', { user_id: 'u1', user_profiles: [entry] })
    const before = await everything(api)
    expect((await register(app, ['u1'])).status).toBe(202)
    expect(await everything(api)).toEqual(before)
  })

  test('a request may hold 10,000 of the longest IDs', async () => {
    const app = await openApp(api)
    const ids = Array.from({ length: 10_000 }, (_, index) => `${'😀'.repeat(250)}${String(index).padStart(5, '0')}`)
    expect((await register(app, ids)).status).toBe(202)
    expect(await usersOf(app)).toHaveLength(10_000)
  })

  test('requests at the same moment with the same users, in any order, do not conflict', async () => {
    const app = await openApp(api)
    const ids = Array.from({ length: 2000 }, (_, index) => `u${index}`)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => register(app, index % 2 === 0 ? ids : ids.toReversed())),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202))
    expect(await usersOf(app)).toHaveLength(2000)
  })
})

describe('400, and no user is registered', () => {
  test.each([
    ['no JSON', '{"user_ids":', ['The request body is not valid JSON.']],
    ['no object', ['a'], ['The request body must be a JSON object.']],
    ['no user_ids', {}, ['user_ids must be an array of user IDs']],
    ['no array', { user_ids: 'a' }, ['user_ids must be an array of user IDs']],
    ['no ID', { user_ids: [] }, ['user_ids must not be empty']],
    [
      'too many',
      { user_ids: Array.from({ length: 10_001 }, () => 'a') },
      ['user_ids must hold at most 10000 user IDs'],
    ],
    ['an empty ID', { user_ids: ['a', ''] }, ['user_ids[1] must not be empty']],
    ['a number', { user_ids: ['a', 7] }, ['user_ids[1] must be a string']],
    ['an ID that is too long', { user_ids: ['x'.repeat(256)] }, ['user_ids[0] should be at most 255 characters']],
    ['an ID with NUL', { user_ids: ['a', 'b', '\0'] }, ['user_ids[2] should not contain U+0000']],
    ['half a character', { user_ids: ['\ud800'] }, ['user_ids[0] should not contain a lone surrogate']],
  ])('%s', async (_, body, messages) => {
    const app = await openApp(api)
    expect(await send(api, app, path, body)).toMatchObject({ status: 400, body: { error: { messages } } })
    expect(await usersOf(app)).toEqual([])
  })
})

describe('other answers', () => {
  test('401 without a token, 403 with an invalid one', async () => {
    expect(await send(api, undefined, path, { user_ids: ['a'] })).toMatchObject({
      status: 401,
      body: { status: 'unauthorized' },
    })
    expect(await send(api, { appId: 0, token: 'x' }, path, { user_ids: ['a'] })).toMatchObject({
      status: 403,
      body: { status: 'forbidden' },
    })
  })

  test('413 for a body that is larger than 10,000 IDs can be', async () => {
    const answer = await send(api, await openApp(api), path, { user_ids: ['x'.repeat(11 * 2 ** 20)] })
    expect(answer).toMatchObject({
      status: 413,
      body: { error: { messages: [expect.stringMatching(/is over \d+ bytes/)] } },
    })
  })
})
