import { once } from 'node:events'
import { gunzipSync, gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { expectNothingLeft, headOf, limit, openBodyFixture, rows, tooLarge } from './bulk-import-v2-body-fixture.ts'
import { everything, openApp, type TestApi } from './test-api.ts'

// Large bodies of bulk-import-v2-body.test.ts.
const fixture = openBeforeAll(openBodyFixture)
let api: TestApi
beforeAll(async () => {
  ;({ api } = fixture)
})

describe('a body that breaks off leaves nothing', () => {
  test('in chunks, after parts of it were stored', async () => {
    await expectNothingLeft(fixture, {}, 12)
  })
})

describe('413 for a body over 100 MiB', () => {
  test('is sent while the body arrives in chunks; the client reads it though it sends on, and the connection survives', async () => {
    const app = await openApp(api)
    const before = await everything(api)
    const socket = fixture.connectRaw()
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
    expect(answers).toContain(tooLarge.body)
    expect(await everything(api)).toEqual(before)
  })

  test('is not sent for a body of exactly 100 MiB', async () => {
    const app = await openApp(api)
    const { request, answered } = fixture.open(app, { 'Content-Length': limit })
    request.write('user_id,n\n')
    for (let left = limit - 10; left > 0; left -= rows.length) {
      if (!request.write(rows.subarray(0, left))) await once(request, 'drain')
    }
    request.end()
    expect(await answered).toMatchObject({ status: 202 })
  })
})

test('a gzip file that unpacks to far more than its size does not delay the answer', async () => {
  const app = await openApp(api)
  // One row of a gigabyte: the search for its end stops with the sample.
  const member = gzipSync(Buffer.alloc(2 ** 26, 'x'))
  const bomb = Buffer.concat([gzipSync('user_id,n\nu,'), ...Array.from({ length: 16 }, () => member)])
  expect(gunzipSync(member)).toHaveLength(2 ** 26)
  const { request, answered } = fixture.open(app, { 'Content-Type': 'application/gzip' })
  const began = performance.now()
  request.end(bomb)
  expect(await answered).toMatchObject({ status: 202 })
  expect(performance.now() - began).toBeLessThan(10_000)
})
