import { describe, expect, test } from 'vitest'
import { type App, everything, openApp, openTestApi, send } from '../api/test-api.ts'
import { userIdsIn } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'

const path = '/v3/user_data_deletions'
const body = { identity_type: 'user_id', identity_value: ['alice'] }

const api = openBeforeAll(openTestApi)

const ask = (app: App, value: unknown) => send(api, app, path, { identity_type: 'user_id', identity_value: value })

async function requestsOf({ appId }: App) {
  return await api.database.db
    .selectFrom('deletion_requests')
    .select(['state', 'token_last_four', 'users_requested', 'accepted_at', 'starts_at', 'completes_at'])
    .where('app_id', '=', appId)
    .execute()
}

const namedOf = ({ appId }: App) => userIdsIn(api.database, 'deletion_request_users', appId)

// service.md, Endpoints 1; service.md, Deletion request.
describe('202', () => {
  test.each([
    ['one user ID', 'alice', ['alice']],
    ['an array', ['b', ' a ', '名前', 'b'], [' a ', 'b', '名前']],
    ['IDs that nobody has registered', ['nobody'], ['nobody']],
  ])('for %s', async (_, value, named) => {
    const app = await openApp(api, ['alice', 'b'])
    const answer = await ask(app, value)
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 202, body: { status: 'accepted' } })
    expect(await namedOf(app)).toEqual(named)
    expect(await requestsOf(app)).toMatchObject([
      { state: 'accepted', token_last_four: app.token.slice(-4), users_requested: named.length },
    ])
  })

  test('deletion starts 6 days after the request', async () => {
    const app = await openApp(api)
    const before = Date.now()
    await ask(app, 'alice')
    const [request] = await requestsOf(app)
    const acceptedAt = request?.accepted_at.getTime() ?? 0
    expect(acceptedAt).toBeGreaterThanOrEqual(before)
    expect(acceptedAt).toBeLessThanOrEqual(Date.now())
    expect((request?.starts_at.getTime() ?? 0) - acceptedAt).toBe(6 * 24 * 60 * 60_000)
    expect(request?.completes_at.toISOString()).toMatch(/-07T00:00:00.000Z$/)
  })

  // design.md §3, Deletion: unknown user IDs.
  test('a request may hold 10,000 of the longest IDs', async () => {
    const app = await openApp(api)
    const ids = Array.from({ length: 10_000 }, (_, index) => `${'😀'.repeat(250)}${String(index).padStart(5, '0')}`)
    expect((await ask(app, ids)).status).toBe(202)
    expect(await namedOf(app)).toHaveLength(10_000)
  })
})

// service.md, Errors: 400; service.md, Errors: 415.
describe('a refused request changes nothing', () => {
  const token: { headers: Record<string, string | undefined> } = { headers: {} }
  test.each([
    ['400', 'no identity_type', token, { identity_value: 'a' }, ['identity_type must be user_id']],
    ['400', 'a wrong identity_type', token, { ...body, identity_type: 'email' }, ['identity_type must be user_id']],
    ['400', 'an empty identity_value', token, { ...body, identity_value: '' }, ['identity_value must not be empty']],
    [
      '400',
      'a wrong ID among good ones',
      token,
      { ...body, identity_value: ['a', 7] },
      ['identity_value[1] must be a string'],
    ],
    ['400', 'a body that is no JSON', token, '{', ['The request body is not valid JSON.']],
    ['400', 'a body that is no object', token, '[]', ['The request body must be a JSON object.']],
    [
      '415',
      'another content type',
      { headers: { 'content-type': 'text/plain' } },
      JSON.stringify(body),
      ['The given content type is not supported: text/plain'],
    ],
    [
      '401',
      'no token',
      { headers: { 'x-service-token': undefined } },
      body,
      ['The header X-Service-Token is missing.'],
    ],
    ['403', 'a wrong token', { headers: { 'x-service-token': 'x' } }, body, ['The API token is invalid.']],
  ])('%s for %s', async (status, _, { headers }, body, messages) => {
    const app = await openApp(api, ['alice'])
    const before = await everything(api)
    const answer = await send(api, app, path, body, { headers })
    expect({ status: String(answer.status), body: answer.body }).toMatchObject({
      status,
      body: { error: { messages } },
    })
    expect(await everything(api)).toEqual(before)
    expect(await requestsOf(app)).toEqual([])
  })

  // service.md, States and transitions.
  test.each(['GET', 'DELETE'] as const)('a deletion cannot be cancelled: %s is 404', async (method) => {
    const app = await openApp(api)
    expect((await send(api, app, path, undefined, { method })).status).toBe(404)
  })
})
