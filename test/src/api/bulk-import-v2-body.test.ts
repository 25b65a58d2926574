import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { dispatchNextInOrder, noticeUploads } from '@sluice/imports'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import {
  type BodyFixture,
  expectNothingLeft,
  headOf,
  limit,
  openBodyFixture,
  rows,
  tooLarge,
} from './bulk-import-v2-body-fixture.ts'
import { openApp, type TestApi } from './test-api.ts'

// What can happen to the body of a v2 bulk import in transit, over real connections. bulk-import-v2-body.long.test.ts
// has larger bodies.
const fixture = openBeforeAll(openBodyFixture)
let api: TestApi
let open: BodyFixture['open']
let importsOf: BodyFixture['importsOf']
let untilBegun: BodyFixture['untilBegun']
beforeAll(async () => {
  ;({ api, open, importsOf, untilBegun } = fixture)
})

// service.md, Errors: 413; design.md §3, Sizes.
describe('a body that arrives', () => {
  test('in chunks becomes an import: storage holds the bytes that were sent', async () => {
    const app = await openApp(api)
    const { request, answered } = open(app)
    request.write('user_id')
    await untilBegun(app)
    request.write(',n\n')
    for (let megabytes = 0; megabytes < 12; megabytes++) request.write(rows)
    request.end()
    expect(await answered).toMatchObject({ status: 202, body: '{"user_profile":{"n":{"type":"int"}}}' })
    const [row] = await api.database.db.selectFrom('imports').selectAll().where('app_id', '=', app.appId).execute()
    expect(row).toMatchObject({ state: 'queued', byte_size: 10 + 12 * rows.length })
    expect(await api.storage.stat(row?.object_key ?? '')).toMatchObject({ byteSize: row?.byte_size, etag: row?.etag })
  })

  test('slowly keeps its sequence number: a later import waits for it', async () => {
    const app = await openApp(api)
    const slow = open(app)
    slow.request.write('user_id,n\n')
    await untilBegun(app)
    const quick = open(app)
    quick.request.end('user_id,n\nu,1\n')
    expect(await quick.answered).toMatchObject({ status: 202 })
    expect(await dispatchNextInOrder(api.context, app.appId)).toEqual([])

    const [first] = await importsOf(app)
    slow.request.end('u,2\n')
    expect(await slow.answered).toMatchObject({ status: 202 })
    expect(await dispatchNextInOrder(api.context, app.appId)).toMatchObject([{ importId: first?.import_id }])
  })
})

describe('a body that breaks off leaves nothing', () => {
  test.each([
    ['in chunks', {}, 2],
    ['before its declared end', { 'Content-Length': 20 * 2 ** 20 }, 2],
  ])('%s', async (_, headers, megabytes) => {
    await expectNothingLeft(fixture, headers, megabytes)
  })

  test('a client that only half-closes its connection gets an answer', async () => {
    const app = await openApp(api)
    const socket = fixture.connectRaw()
    socket.write(`${headOf(app, 'Content-Length: 100')}user_id,n\n`)
    // Otherwise the import might begin only after the test looked for it.
    await untilBegun(app)
    socket.end()
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /)
    socket.destroy()
    await until('the end of the import', async () => (await importsOf(app)).length === 0)
  })
})

describe('413 for a body over 100 MiB', () => {
  test('is sent by its declared length, before any of the body is read', async () => {
    const app = await openApp(api)
    const { request, answered } = open(app, { 'Content-Length': limit + 1, Expect: '100-continue' })
    expect(await answered).toEqual(tooLarge)
    request.destroy()
    expect(await importsOf(app)).toEqual([])
  })

  test('is sent while the body arrives in chunks, and no import is left', async () => {
    // The bytes are dropped, because storing them takes most of the time.
    const stored = vi.spyOn(api.storage, 'writeStream').mockImplementation(async (_, content) => {
      for await (const _ of content);
    })
    onTestFinished(() => stored.mockRestore())
    const app = await openApp(api)
    const { request, answered } = open(app)
    for (let sent = 0; sent < limit; sent += rows.length) {
      if (!request.write(rows)) await once(request, 'drain')
    }
    await untilBegun(app)
    request.end('x')
    expect(await answered).toEqual(tooLarge)
    expect(await importsOf(app)).toEqual([])
  })
})

describe('a process that dies while it receives a file', () => {
  test('leaves an import that expires, even if the file is in storage', async () => {
    const app = await openApp(api)
    const importId = crypto.randomUUID()
    const objectKey = `apps/${app.appId}/imports/${importId}/upload`
    await api.storage.write(objectKey, Buffer.from('user_id,n\nu,1\n'), 'text/csv')
    const row = { app_id: app.appId, import_id: importId, object_key: objectKey, content_type: 'text/csv' as const }
    const past = new Date(Date.now() - 1000)
    await api.database.db
      .insertInto('imports')
      .values({ ...row, source: 'v2', state: 'awaiting_upload', upload_expires_at: past, upload_check_at: past })
      .execute()
    expect(await noticeUploads(api.context)).toEqual({ queued: 0, expired: 1 })
    expect(await importsOf(app)).toEqual([{ import_id: importId, state: 'expired' }])
    expect(await noticeUploads(api.context)).toEqual({ queued: 0, expired: 0 })
  })
})
