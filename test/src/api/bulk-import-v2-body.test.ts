import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import { dispatchNextInOrder, noticeUploads } from '@sluice/imports'
import { beforeAll, describe, expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { type App, everything, openApp, openTestApi, type TestApi } from './test-api.ts'

// What can happen to the body of a v2 bulk import in transit, over real connections.
const path = '/v2/user_profiles/bulk_import'
const limit = 100 * 2 ** 20

let api: TestApi
let url: string
beforeAll(async () => {
  api = await openTestApi({ UPLOAD_ORDER_WAIT: '30s' })
  url = await api.api.listen({ host: '127.0.0.1', port: 0 })
  return () => api.close()
})

const headersOf = ({ token }: App) => ({ 'X-Service-Token': token, 'Content-Type': 'text/csv' })

/** Opens a request and sends its headers. The caller sends the body. */
function open(app: App, headers: Record<string, string | number> = {}) {
  const request = httpRequest(`${url}${path}`, { method: 'POST', headers: { ...headersOf(app), ...headers } })
  const answered = once(request, 'response').then(async ([response]: IncomingMessage[]) => ({
    status: response?.statusCode,
    body: response === undefined ? '' : await text(response),
  }))
  answered.catch(() => {}) // a broken request has no answer
  request.on('error', () => {})
  return { request, answered }
}

const importsOf = ({ appId }: App) =>
  api.database.db
    .selectFrom('imports')
    .select(['import_id', 'state'])
    .where('app_id', '=', appId)
    .orderBy('sequence_number')
    .execute()

/** Waits until the app's request has created an import, which then has a sequence number. */
const untilBegun = (app: App) => until('the import', async () => (await importsOf(app)).length > 0)

/** Opens a connection on which the test writes HTTP itself. */
function connectRaw() {
  const { hostname, port } = new URL(url)
  return connect(Number(port), hostname)
}

function headOf(app: App, header: string): string {
  const headers = Object.entries({ Host: 'test', ...headersOf(app) }).map(([name, value]) => `${name}: ${value}`)
  return [`POST ${path} HTTP/1.1`, ...headers, header, '\r\n'].join('\r\n')
}

/** A megabyte of rows. */
const rows = Buffer.alloc(2 ** 20, 'somebody,1\n')

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
    expect(await api.storage.stat(row?.object_key ?? '')).toEqual({ byteSize: row?.byte_size, etag: row?.etag })
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
    ['in chunks, after parts of it were stored', {}, 12],
    ['before its declared end', { 'Content-Length': 20 * 2 ** 20 }, 2],
  ])('%s', async (_, headers, megabytes) => {
    const app = await openApp(api)
    const before = await everything(api)
    const { request } = open(app, headers)
    request.write('user_id,n\n')
    for (let sent = 0; sent < megabytes; sent++) request.write(rows)
    await untilBegun(app)
    request.destroy()
    await until('the end of the import', async () => (await importsOf(app)).length === 0)
    expect(await everything(api)).toEqual(before)
  })

  test('a client that only half-closes its connection gets an answer', async () => {
    const app = await openApp(api)
    const socket = connectRaw()
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
  const answer = { status: 413, body: `{"error":{"messages":["The request body is over ${limit} bytes."]}}` }

  test('is sent by its declared length, before any of the body is read', async () => {
    const app = await openApp(api)
    const { request, answered } = open(app, { 'Content-Length': limit + 1, Expect: '100-continue' })
    expect(await answered).toEqual(answer)
    request.destroy()
    expect(await importsOf(app)).toEqual([])
  })

  test('is sent while the body arrives in chunks; the client reads it though it sends on, and the connection survives', async () => {
    const app = await openApp(api)
    const before = await everything(api)
    const socket = connectRaw()
    let answers = ''
    socket.on('data', (data) => {
      answers += data
    })
    socket.write(headOf(app, 'Transfer-Encoding: chunked'))
    for (let megabytes = 0; megabytes < 110; megabytes++) {
      socket.write(`${rows.length.toString(16)}\r\n`)
      socket.write(rows)
      if (!socket.write('\r\n')) await once(socket, 'drain')
    }
    socket.write('0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n')
    await once(socket, 'close')
    expect(answers).toMatch(/^HTTP\/1\.1 413 .*HTTP\/1\.1 200 /s)
    expect(answers).toContain(answer.body)
    expect(await everything(api)).toEqual(before)
  })

  test('is not sent for a body of exactly 100 MiB', async () => {
    const app = await openApp(api)
    const { request, answered } = open(app, { 'Content-Length': limit })
    request.write('user_id,n\n')
    for (let left = limit - 10; left > 0; left -= rows.length) {
      if (!request.write(rows.subarray(0, left))) await once(request, 'drain')
    }
    request.end()
    expect(await answered).toMatchObject({ status: 202 })
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

test('a gzip file that unpacks to far more than its size does not delay the answer', async () => {
  const app = await openApp(api)
  // One row of a gigabyte: the search for its end stops with the sample.
  const member = gzipSync(Buffer.alloc(2 ** 26, 'x'))
  const bomb = Buffer.concat([gzipSync('user_id,n\nu,'), ...Array.from({ length: 16 }, () => member)])
  expect(gunzipSync(member)).toHaveLength(2 ** 26)
  const { request, answered } = open(app, { 'Content-Type': 'application/gzip' })
  const began = performance.now()
  request.end(bomb)
  expect(await answered).toMatchObject({ status: 202 })
  expect(performance.now() - began).toBeLessThan(10_000)
})
