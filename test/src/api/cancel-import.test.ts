import { reportCancelled } from '@sluice/imports'
import { beforeAll, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { holdImport } from '../imports/forced-states.ts'
import { type App, openApp, openTestApi, send } from './test-api.ts'

// `DELETE /v3/user_profiles/bulk_import/{id}`, an extension: cancels an import of the token's app.
const api = openBeforeAll(openTestApi)
let app: App
const path = '/v3/user_profiles/bulk_import'

beforeAll(async () => {
  app = await openApp(api, ['alice'])
})

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

// changes.md §2, The decision.
test('a held import is approved once; one that is not held is refused, and another app does not find it', async () => {
  const importId = await requested()
  const approve = (by: App | undefined = app, headers = {}) =>
    send(api, by, `${path}/${importId}/approve`, undefined, { method: 'POST', headers })
  const refused = (state: string) => ({
    status: 409,
    body: { error: { messages: [`The import cannot be approved: it is not held, but ${state}.`] } },
  })
  expect(await approve()).toMatchObject(refused('awaiting_upload'))
  const { db } = api.database
  await holdImport(db, importId)
  expect((await approve(await openApp(api))).status).toBe(404)
  expect((await send(api, undefined, `${path}/${importId}/approve`, undefined, { method: 'POST' })).status).toBe(401)
  const approved = await approve(app, { 'content-type': 'application/json' })
  expect(approved).toMatchObject({ status: 200, body: { import_id: importId, state: 'queued', held: null } })
  expect(await send(api, app, `${path}/${importId}/approve`, {})).toMatchObject(refused('queued'))
  await holdImport(db, importId)
  const list = (query: string) => send(api, app, `${path}?${query}`, undefined, { method: 'GET' })
  expect((await list('state=held')).body).toMatchObject({ imports: [{ import_id: importId, state: 'held' }] })
  expect((await cancel(importId)).body).toMatchObject({ state: 'cancelled' })
  expect(await approve()).toMatchObject(refused('cancelled'))
})
