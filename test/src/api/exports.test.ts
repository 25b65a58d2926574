import { registerKeys } from '@sluice/profiles'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type App, openApp, openTestApi, send } from './test-api.ts'

// `POST /v1/exports` and `GET /v1/exports/{id}`, extensions. The file itself is tested in test/src/exports.
const api = openBeforeAll(openTestApi)
let app: App
beforeEach(async () => {
  app = await openApp(api, ['alice'])
  const keys = new Map([
    ['name', 'string'],
    ['age', 'int'],
  ] as const)
  await api.database.db.transaction().execute((tx) => registerKeys(tx, app.appId, keys, 500))
})

const get = (path: string, by: App | undefined = app) => send(api, by, path, undefined, { method: 'GET' })
const exportsOf = ({ appId }: App) =>
  api.database.db.selectFrom('exports').select(['export_id', 'keys']).where('app_id', '=', appId).execute()

// second-day.md §3, Exports.
describe('a request for an export', () => {
  test.each([
    [{}, null],
    [{ keys: null }, null],
    [{ keys: ['name', 'age'] }, ['name', 'age']],
  ])('%j is queued, and its state can be read', async (body, keys) => {
    const requested = await send(api, app, '/v1/exports', body)
    const [stored] = await exportsOf(app)
    expect(requested).toMatchObject({ status: 202, body: { export_id: stored?.export_id, state: 'queued' } })
    expect(stored?.keys).toEqual(keys)
    expect(await get(`/v1/exports/${stored?.export_id}`)).toMatchObject({
      status: 200,
      body: {
        export_id: stored?.export_id,
        state: 'queued',
        rows: 0,
        bytes: 0,
        file_url: null,
        error: null,
        requested_at: expect.stringMatching(/^\d{4}-.*Z$/),
        finished_at: null,
      },
    })
  })

  test('with keys that are not registered is refused, and names them', async () => {
    expect(await send(api, app, '/v1/exports', { keys: ['age', 'nmae', 'x'] })).toMatchObject({
      status: 400,
      body: { error: { messages: ['profile keys are not registered: nmae, x'] } },
    })
    const many = await send(api, app, '/v1/exports', { keys: Array.from({ length: 1_000 }, (_, index) => `k${index}`) })
    expect(JSON.stringify(many.body).length).toBeLessThan(300)
    expect(await exportsOf(app)).toEqual([])
  })

  test('is never answered 5xx, and a refusal names the member', async () => {
    const keys = fc.oneof(
      fc.jsonValue(),
      fc.array(fc.oneof(fc.constantFrom('name', 'age', '\0', '\ud800', '', 'user_id'), fc.string())),
    )
    const body = fc.oneof(
      fc.jsonValue().map((value) => JSON.stringify(value)),
      fc.record({ keys }, { requiredKeys: [] }).map((value) => JSON.stringify(value)),
      fc.string(),
    )
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        const { status, body: answer } = await send(api, app, '/v1/exports', text)
        expect([202, 400]).toContain(status)
        if (status === 400) expect(JSON.stringify(answer)).toMatch(/keys|JSON|The request body broke off/)
      }),
      { numRuns: 1_000 },
    )
  }, 60_000)
})

// second-day.md §3, Exports.
describe('the state of an export', () => {
  test('of another app, or of none, is not found', async () => {
    await send(api, app, '/v1/exports', {})
    const [stored] = await exportsOf(app)
    const other = await openApp(api)
    expect((await get(`/v1/exports/${stored?.export_id}`, other)).status).toBe(404)
    for (const id of [crypto.randomUUID(), 'x', '%00', `${stored?.export_id} `]) {
      expect((await get(`/v1/exports/${encodeURIComponent(id)}`)).status, id).toBe(404)
    }
  })

  test('is found by its ID in capitals, and shown with small letters', async () => {
    await send(api, app, '/v1/exports', {})
    const [stored] = await exportsOf(app)
    const answer = await get(`/v1/exports/${stored?.export_id.toUpperCase()}`)
    expect(answer.body).toMatchObject({ export_id: stored?.export_id })
  })
})

test('a link that Sluice never issued is not found, whatever it is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), async (token) => {
      expect((await get(`/export_files/${encodeURIComponent(token)}`)).status).toBe(404)
    }),
    { numRuns: 200 },
  )
})
