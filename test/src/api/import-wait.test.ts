import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type App, openApp, openTestApi, send } from './test-api.ts'

// `GET /v3/user_profiles/bulk_import/{id}?wait=S`, an extension: the answer waits for another state.
const api = openBeforeAll(openTestApi)
let app: App
const path = '/v3/user_profiles/bulk_import'

beforeAll(async () => {
  app = await openApp(api)
})

async function requested(by = api, owner = app): Promise<string> {
  const answer = await send(by, owner, path, { checksum: 'XrY7u+Ae7tCTyyK7j1rNww==', byte_size: '12' })
  return String(answer.headers['x-import-id'])
}

const get = (importId: string, query: string, by = api, owner = app) =>
  send(by, owner, `${path}/${importId}${query}`, undefined, { method: 'GET' })
const cancel = (importId: string) => send(api, app, `${path}/${importId}`, undefined, { method: 'DELETE' })

test.for(['0', '31', '1.5', '-1', 'long', '1&wait=2'])('wait=%s is refused', async (wait) => {
  const answer = await get(await requested(), `?wait=${wait}`)
  expect(answer).toMatchObject({
    status: 400,
    body: { error: { messages: ['wait must be a whole number from 1 to 30'] } },
  })
})

test('an empty wait counts as absent, and a state without wait changes nothing', async () => {
  const importId = await requested()
  expect(await get(importId, '?wait=')).toMatchObject({ status: 200, body: { state: 'awaiting_upload' } })
  expect(await get(importId, '?state=awaiting_upload')).toMatchObject({ status: 200 })
  expect(await get(importId, '?wait=30&state=lost')).toMatchObject({ status: 400 })
  expect(await get(crypto.randomUUID(), '?wait=30')).toMatchObject({ status: 404 })
})

// changes.md §5.
test('many requests wait at once without being reads in flight, and all are answered when the state changes', async () => {
  const importId = await requested()
  const waiting: ReturnType<typeof get>[] = []
  for (let request = 0; request < 100; request++) {
    waiting.push(get(importId, '?wait=30&state=awaiting_upload'))
    // Reads of an app are answered in turn, and only so many are in flight: others would be refused.
    expect((await get(importId, '')).status).toBe(200)
  }
  await cancel(importId)
  for (const answer of await Promise.all(waiting))
    expect(answer).toMatchObject({ status: 200, body: { state: 'cancelled' } })
})

// changes.md §5.
test('an ended import is answered at once, and so is one in another state than the client knows', async () => {
  const importId = await requested()
  expect(await get(importId, '?wait=30&state=queued')).toMatchObject({ body: { state: 'awaiting_upload' } })
  await cancel(importId)
  expect(await get(importId, '?wait=30&state=cancelled')).toMatchObject({ body: { state: 'cancelled' } })
})

test('after the time, the answer has the same state', async () => {
  const importId = await requested()
  const began = performance.now()
  expect(await get(importId, '?wait=1')).toMatchObject({ status: 200, body: { state: 'awaiting_upload' } })
  expect(performance.now() - began).toBeGreaterThan(950)
})

test('an API that shuts down answers the requests that wait', async () => {
  const closing = await openTestApi()
  onTestFinished(() => closing.close())
  const own = await openApp(closing)
  const importId = await requested(closing, own)
  const waiting = get(importId, '?wait=30', closing, own)
  // Reads of an app are answered in turn: then the first one waits.
  expect((await get(importId, '', closing, own)).status).toBe(200)
  // The database stays: the answer shows the import, and nothing but the test waits for an injected request.
  await closing.api.close()
  expect(await waiting).toMatchObject({ status: 200, body: { state: 'awaiting_upload' } })
})
