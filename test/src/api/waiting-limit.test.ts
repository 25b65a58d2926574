import { acquireLock, connect, sql } from '@sluice/database'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { type App, openApp, openTestApi, send, type TestApi } from './test-api.ts'

const v3 = '/v3/user_profiles/bulk_import'
const v2 = '/v2/user_profiles/bulk_import'
const request = { checksum: '6VkhpT2eVzkbUMqljvj/Fg==', byte_size: '15' }
const csv = { headers: { 'content-type': 'text/csv' } }

// design.md §3, Waiting imports.
describe('an app that has WAITING_IMPORTS_LIMIT imports waiting', () => {
  let api: TestApi
  beforeAll(async () => {
    api = await openTestApi({ WAITING_IMPORTS_LIMIT: '5' })
    return () => api.close()
  })

  /** Opens an app with as many waiting imports as it may have. */
  async function openFullApp(): Promise<App> {
    const app = await openApp(api, ['u1'])
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(api, app, v3, request)))
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200))
    return app
  }

  /** Changes the state of a waiting import of the app. Returns the ID of the import. */
  async function changeOne({ appId }: App, state: string): Promise<string | undefined> {
    const { rows } = await sql<{ import_id: string }>`
      update imports set state = ${state}
      where import_id = (select import_id from imports where app_id = ${appId} and state = 'awaiting_upload' limit 1)
      returning import_id
    `.execute(api.database.db)
    return rows[0]?.import_id
  }

  test('gets 429 with Retry-After, on v2 and on v3', async () => {
    const app = await openFullApp()
    const refused = [await send(api, app, v3, request), await send(api, app, v2, 'user_id,n\nu1,1\n', csv)]
    for (const { status, headers, body } of refused) {
      expect(status).toBe(429)
      expect(headers['retry-after']).toBe('60')
      expect(body).toEqual({
        status: 'too_many_requests',
        error: { messages: ['Requests came too quickly: 5 imports of this app wait already. Please wait 60 seconds.'] },
      })
    }
  })

  test('has no import more, however many requests come at once', async () => {
    const app = await openApp(api)
    const answers = await Promise.all(Array.from({ length: 12 }, () => send(api, app, v3, request)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(5).fill(200), ...Array(7).fill(429)])
    const { rows } = await sql`select from imports where app_id = ${app.appId}`.execute(api.database.db)
    expect(rows).toHaveLength(5)
  })

  // changes.md §2, Held.
  test('gets the ID of the held import for which the others wait', async () => {
    const app = await openFullApp()
    const held = await changeOne(app, 'held')
    const message = `Requests came too quickly: 5 imports of this app wait already. The import ${held} is held: approve or cancel it. Please wait 60 seconds.`
    expect((await send(api, app, v3, request)).body).toMatchObject({ error: { messages: [message] } })
  })

  test.each(['processing', 'completed'])('may have another when one is %s', async (state) => {
    const app = await openFullApp()
    await changeOne(app, state)
    expect((await send(api, app, v2, 'user_id,n\nu1,1\n', csv)).status).toBe(202)
  })

  test('does not keep another app from importing', async () => {
    await openFullApp()
    expect((await send(api, await openApp(api), v3, request)).status).toBe(200)
  })
})

test('requests of one app that wait for each other leave connections to Postgres for other apps', async () => {
  const api = await openTestApi()
  const holder = connect(api.database.url, { connections: 2 })
  onTestFinished(async () => {
    await holder.close()
    await api.close()
  })
  const [busy, other] = [await openApp(api), await openApp(api)]
  const { answers } = await holder.db.transaction().execute(async (tx) => {
    await acquireLock(tx, 'waitingImportsOfApp', busy.appId)
    const answers = Array.from({ length: 30 }, () => send(api, busy, v3, request))
    await until('a request that waits for the lock', async () => (await lockWaits(holder.db, 'advisory')).length > 0)
    expect((await send(api, other, v3, request)).status).toBe(200)
    return { answers }
  })
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200)
})
