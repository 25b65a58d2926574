import { describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type App, everything, openApp, openTestApi, profileOf, send } from './test-api.ts'

// DELETE /v1/users/{user_id}/profiles/{key}.
const api = openBeforeAll(openTestApi)

const remove = (app: App | undefined, userId: string, key: string) =>
  send(api, app, `/v1/users/${encodeURIComponent(userId)}/profiles/${encodeURIComponent(key)}`, undefined, {
    method: 'DELETE',
  })

async function appWith(userId: string, values: Record<string, string>): Promise<App> {
  const app = await openApp(api, [userId, 'other'])
  const entries = Object.entries(values).map(([key, value]) => ({ key, type: 'string', value }))
  for (const user of [userId, 'other']) {
    const { status } = await send(api, app, '/v2/user_profiles', { user_id: user, user_profiles: entries })
    expect(status).toBe(202)
  }
  return app
}

// second-day.md §2, Removing a value.
test('204 removes the value of this user alone; the key stays registered', async () => {
  const app = await appWith('u1', { a: '1', b: '2' })
  expect(await remove(app, 'u1', 'a')).toMatchObject({ status: 204, body: '' })
  expect(await profileOf(api, app, 'u1')).toEqual({ b: '2' })
  expect(await profileOf(api, app, 'other')).toEqual({ a: '1', b: '2' })
  const keys = await send(api, app, '/v1/profile_keys', undefined, { method: 'GET' })
  expect(keys.body).toMatchObject({ profile_keys: [{ key: 'a' }, { key: 'b' }] })
})

test('204 again changes nothing, nor does it for a user without any profile', async () => {
  const app = await appWith('u1', { a: '1' })
  await send(api, app, '/v1/users', { user_ids: ['fresh'] })
  await remove(app, 'u1', 'a')
  const before = await everything(api)
  expect((await remove(app, 'u1', 'a')).status).toBe(204)
  expect((await remove(app, 'fresh', 'a')).status).toBe(204)
  expect(await everything(api)).toEqual(before)
})

test('names with slashes, percent signs, spaces and the longest names are found', async () => {
  for (const name of ['a/b', '100%', ' ', '%2F', '名前?x#y', '😀'.repeat(255), '__proto__']) {
    const app = await appWith(name, { [name]: 'x', kept: 'y' })
    expect((await remove(app, name, name)).status, name).toBe(204)
    expect(await profileOf(api, app, name)).toEqual({ kept: 'y' })
  }
})

describe('404', () => {
  test.each([
    ['an unregistered user', 'nobody', 'a'],
    ['an unregistered key', 'u1', 'b'],
    ['a user ID with NUL', '\0', 'a'],
    ['a key with NUL', 'u1', '\0'],
    ['a key that is too long', 'u1', 'x'.repeat(5000)],
  ])('for %s', async (_, userId, key) => {
    const app = await appWith('u1', { a: '1' })
    expect(await remove(app, userId, key)).toMatchObject({ status: 404, body: { status: 'not_found' } })
    expect(await profileOf(api, app, 'u1')).toEqual({ a: '1' })
  })

  test("for another app's user", async () => {
    const [app, other] = [await appWith('u1', { a: '1' }), await openApp(api)]
    expect((await remove(other, 'u1', 'a')).status).toBe(404)
    expect(await profileOf(api, app, 'u1')).toEqual({ a: '1' })
  })

  test.each(['%ff', '%zz', '%', ''])('for the malformed name %j', async (name) => {
    const app = await openApp(api)
    const answer = await send(api, app, `/v1/users/${name}/profiles/a`, undefined, { method: 'DELETE' })
    expect(answer).toMatchObject({ status: 404, body: { status: 'not_found' } })
  })
})

test('401 without a token, 403 with an invalid one', async () => {
  expect((await remove(undefined, 'u1', 'a')).status).toBe(401)
  expect((await remove({ appId: 0, token: 'x' }, 'u1', 'a')).status).toBe(403)
})
