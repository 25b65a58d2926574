import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { createApp } from '@sluice/accounts'
import { dispatchNextInOrder } from '@sluice/imports'
import { registeredKeys, registerUsers } from '@sluice/profiles'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { type ApiProcess, startApi } from '../api-limits/api-process.ts'
import { type InterruptedLink, openLink } from '../api-limits/interrupted-link.ts'
import { storedProfiles } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { openTestApi, type TestApi } from './test-api.ts'

// A v2 bulk import during an outage of object storage is answered as an internal failure, and has no effect.
const failure = { error: { messages: ['Something went wrong on our side. Please try again.'] } }

let inner: TestApi
let link: InterruptedLink
let api: ApiProcess
beforeAll(async () => {
  inner = await openTestApi({ UPLOAD_ORDER_WAIT: '30s' })
  link = await openLink(inject('s3Endpoint'))
  api = await startApi(inner.database.url, { S3_ENDPOINT: link.url })
})
afterAll(async () => {
  await api.stop()
  await link.close()
  await inner.close()
})

async function openApp() {
  const { appId, apiToken } = await createApp(inner.database.db, { name: 'Test', email: 'member@example.com' })
  await registerUsers(inner.database.db, appId, ['u'])
  return { appId, token: apiToken }
}

/** Opens a request. The caller sends its body. */
function open(token: string) {
  const headers = { 'X-Service-Token': token, 'Content-Type': 'text/csv' }
  const request = httpRequest(`${api.url}/v2/user_profiles/bulk_import`, { method: 'POST', headers })
  const answered = once(request, 'response').then(async ([response]: IncomingMessage[]) => ({
    status: response?.statusCode,
    importId: response?.headers['x-import-id'],
    body: response === undefined ? undefined : JSON.parse(await text(response)),
  }))
  return { request, answered }
}

/** Expects that an app's request had no effect: no import that could run or block others, no file, no key, no value. */
async function expectNothing(appId: number): Promise<void> {
  const { db } = inner.database
  const imports = await db.selectFrom('imports').selectAll().where('app_id', '=', appId).execute()
  for (const { state, object_key: key } of imports) {
    // Maintenance removes the files that storage could not remove now; their imports block nothing meanwhile.
    expect(state).toBe('expired')
    expect(await inner.storage.stat(key)).toBeUndefined()
  }
  expect(await dispatchNextInOrder(inner.context, appId)).toEqual([])
  expect((await registeredKeys(db, appId)).size).toBe(0)
  expect(await storedProfiles({ db }, appId)).toEqual({ u: {} })
}

/** Expects that the next file is accepted, and that its import is next in order at once. */
async function expectNextIsAccepted({ appId, token }: { appId: number; token: string }): Promise<void> {
  const { request, answered } = open(token)
  request.end('user_id,n\nu,1\n')
  const { status, importId } = await answered
  expect(status).toBe(202)
  // The API wakes a worker for it.
  await until('its dispatch', async () => {
    const { db } = inner.database
    const found = await db
      .selectFrom('imports')
      .select(['import_id', 'dispatched_at'])
      .where('app_id', '=', appId)
      .execute()
    return found.some((row) => row.import_id === importId && row.dispatched_at !== null)
  })
}

test('a file that is sent during an outage of storage is answered 500, and leaves nothing', async () => {
  const app = await openApp()
  await link.cut()
  const { request, answered } = open(app.token)
  request.end('user_id,n\nu,1\n')
  expect(await answered).toEqual({ status: 500, importId: undefined, body: failure })
  await expectNothing(app.appId)
  await link.restore()
  await expectNextIsAccepted(app)
})

test('a file during which storage fails, after parts of it were stored, is answered 500, and leaves nothing', async () => {
  const app = await openApp()
  const rows = Buffer.alloc(2 ** 20, 'u,1\n')
  const { request, answered } = open(app.token)
  request.write('user_id,n\n')
  // Far more than connections buffer: when all of it is accepted, parts of it are in storage.
  for (let sent = 0; sent < 40; sent++) if (!request.write(rows)) await once(request, 'drain')
  await link.cut()
  for (let sent = 0; sent < 10; sent++) request.write(rows)
  request.end()
  expect(await answered).toEqual({ status: 500, importId: undefined, body: failure })
  await link.restore()
  await expectNothing(app.appId)
  await expectNextIsAccepted(app)
})
