import { reportCancelled } from '@sluice/imports'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, openApp, openTestApi, send, type TestApi } from './test-api.ts'

// `DELETE /v3/user_profiles/bulk_import/{id}`, an extension: cancels an import of the token's app.
let api: TestApi
let app: App
const path = '/v3/user_profiles/bulk_import'

beforeAll(async () => {
  api = await openTestApi()
  app = await openApp(api, ['alice'])
})
afterAll(() => api.close())

async function requested(): Promise<string> {
  const answer = await send(api, app, path, { checksum: 'XrY7u+Ae7tCTyyK7j1rNww==', byte_size: '12' })
  return String(answer.headers['x-import-id'])
}

const cancel = (importId: string, by: App | undefined = app) =>
  send(api, by, `${path}/${importId}`, undefined, { method: 'DELETE' })

test('an import that waits is cancelled, and the answer says so; repeating the request gives the same answer', async () => {
  const importId = await requested()
  const cancelled = await cancel(importId)
  expect(cancelled).toMatchObject({ status: 200, body: { import_id: importId, state: 'cancelled', rows_applied: 0 } })
  expect(await cancel(importId)).toMatchObject({ status: 200, body: cancelled.body })
  const shown = await send(api, app, `${path}/${importId}`, undefined, { method: 'GET' })
  expect(shown.body).toEqual(cancelled.body)
  await reportCancelled(api.context)
})

test('an import that has ended is refused with 409 and its state', async () => {
  const importId = await requested()
  const { db } = api.database
  await db.updateTable('imports').set({ state: 'failed' }).where('import_id', '=', importId).execute()
  expect(await cancel(importId)).toMatchObject({
    status: 409,
    body: { error: { messages: ['The import cannot be cancelled: it has failed already.'] } },
  })
})

test('an import of another app is answered 404 and continues; so is an ID without an import', async () => {
  const importId = await requested()
  const other = await openApp(api)
  expect((await cancel(importId, other)).status).toBe(404)
  expect((await cancel(crypto.randomUUID())).status).toBe(404)
  expect((await cancel('everything')).status).toBe(404)
  expect((await send(api, undefined, `${path}/${importId}`, undefined, { method: 'DELETE' })).status).toBe(401)
  expect((await send(api, app, `${path}/${importId}`, undefined, { method: 'GET' })).body).toMatchObject({
    state: 'awaiting_upload',
  })
})
