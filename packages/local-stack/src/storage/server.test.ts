import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { answerOf, begin, type RawRequest, send } from '@sluice/s3-endpoint/testing'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { fileTeardown, makeDirectory, type RunningEndpoint, runEndpoint, testBucket } from './start.fixture.ts'

const objectPath = `/${testBucket}/k`

let endpoint: RunningEndpoint
beforeAll(async () => {
  const { until, end } = fileTeardown()
  endpoint = await runEndpoint({}, until)
  return end
})

describe('a sender that waits for 100 Continue', () => {
  const put = (options: object) => {
    return begin(endpoint.url, {
      method: 'PUT',
      path: objectPath,
      headers: { expect: '100-continue', 'content-length': '5' },
      payloadHash: 'UNSIGNED-PAYLOAD',
      ...options,
    })
  }

  test('gets it if the request is acceptable', async () => {
    const request = put({})
    request.flushHeaders()
    await once(request, 'continue')
    request.end('hello')
    expect(await answerOf(request)).toMatchObject({ status: 200 })
  })

  test.each([
    [{ secretAccessKey: 'wrong' }, 403],
    [{ path: '/no-bucket/k' }, 404],
    [{ path: `${objectPath}?uploadId=none&partNumber=1` }, 404],
  ])('is refused before it sends anything: %o', async (options, status) => {
    const request = put(options)
    request.flushHeaders()
    let continued = false
    request.once('continue', () => {
      continued = true
    })
    expect(await answerOf(request)).toMatchObject({ status })
    expect(continued).toBe(false)
    request.destroy()
  })
})

test('a refused sender of a large body can read the reason, and the next request succeeds', async () => {
  const body = Buffer.alloc(8 * 1024 * 1024)
  for (const secretAccessKey of ['wrong', 'wrong again']) {
    const answer = await send(endpoint.url, { method: 'PUT', path: objectPath, body, secretAccessKey })
    expect(answer).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' })
  }
  const wrongDigest = { payloadHash: 'a'.repeat(64) }
  expect(await send(endpoint.url, { method: 'PUT', path: objectPath, body, ...wrongDigest })).toMatchObject({
    status: 400,
  })
})

test('a refused sender that does not stop is disconnected', async () => {
  const headers = { 'content-length': String(1024 ** 3) }
  const request = begin(endpoint.url, { method: 'PUT', path: objectPath, headers, secretAccessKey: 'wrong' })
  let sent = 0
  async function* megabytes() {
    for (; sent < 1024; sent += 1) yield Buffer.alloc(1024 * 1024)
  }
  await expect(pipeline(megabytes(), request)).rejects.toThrow()
  expect(sent).toBeGreaterThan(1)
  expect(sent).toBeLessThan(100)
})

test.each([
  [
    'a length and chunked encoding',
    'PUT /b/k HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['two lengths', 'PUT /b/k HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello'],
  ['a space before the colon', 'PUT /b/k HTTP/1.1\r\nHost: h\r\nContent-Length : 5\r\n\r\nhello'],
  ['a folded header', 'PUT /b/k HTTP/1.1\r\nHost: h\r\nX-A: b\r\n c\r\n\r\n'],
  ['two hosts', 'GET /bucket/k HTTP/1.1\r\nHost: h\r\nHost: i\r\nConnection: close\r\n\r\n'],
  ['a target that is not a path', 'GET http://h/bucket/k HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'],
])('a request with an ambiguous end or meaning is refused: %s', async (_name, request) => {
  const socket = connect(endpoint.port, '127.0.0.1')
  socket.end(request)
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  await once(socket, 'close')
  expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 400 /)
})

describe('a browser is told not to guess the type', () => {
  test.each<[string, RawRequest]>([
    ['of an object', { path: objectPath }],
    ['of a range of an object', { path: objectPath, headers: { range: 'bytes=0-1' } }],
    ['of an object without its bytes', { method: 'HEAD', path: objectPath }],
    ['of a listing', { path: `/${testBucket}?list-type=2` }],
    ['of a missing object', { path: `/${testBucket}/none` }],
    ['of a refusal', { path: objectPath, secretAccessKey: 'wrong' }],
    ['of a request that cannot be read', { path: `/${testBucket}/%ZZ` }],
    ['of the answer to an upload', { method: 'PUT', path: objectPath, body: '<script>' }],
    ['of an object with a type from the query', { path: `${objectPath}?response-content-type=text%2Fcsv` }],
  ])('%s', async (_name, request) => {
    await send(endpoint.url, { method: 'PUT', path: objectPath, body: '<script>' })
    const answer = await send(endpoint.url, request)
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
    if (answer.text !== '') expect(answer.headers['content-type']).toBeDefined()
  })

  test('of a preflight request', async () => {
    const answer = await fetch(endpoint.url + objectPath, { method: 'OPTIONS' })
    expect([answer.status, answer.headers.get('x-content-type-options')]).toEqual([403, 'nosniff'])
  })
})

describe('an interrupted upload', () => {
  test.each([
    ['in a plain body', 'UNSIGNED-PAYLOAD', {}],
    ['in a chunked body', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER', { 'x-amz-decoded-content-length': '1000' }],
  ])('%s changes nothing and leaves no files', async (_name, payloadHash, more) => {
    await send(endpoint.url, { method: 'PUT', path: objectPath, body: 'old' })
    const headers = { 'content-length': '2000', ...more }
    const request = begin(endpoint.url, { method: 'PUT', path: objectPath, headers, payloadHash })
    const failed = once(request, 'error').catch((error: unknown) => [error])
    request.write('3e8\r\nnew')
    await vi.waitFor(async () => expect(await temporaryFiles()).toHaveLength(1), { timeout: 5000 })
    expect(await send(endpoint.url, { path: objectPath })).toMatchObject({ text: 'old' })
    request.destroy(new Error('broken off'))
    await failed
    await vi.waitFor(async () => expect(await temporaryFiles()).toEqual([]), { timeout: 5000 })
    expect(await send(endpoint.url, { path: objectPath })).toMatchObject({ text: 'old' })
  })

  const temporaryFiles = () => readdir(join(endpoint.root, 'temporary'))
})

describe('a download in flight', () => {
  const size = 32 * 1024 * 1024

  test.each([
    ['replaced', { method: 'PUT', body: 'new' }],
    ['deleted', { method: 'DELETE' }],
  ])('continues with the old bytes if the object is %s', async (_name, change) => {
    await send(endpoint.url, { method: 'PUT', path: objectPath, body: Buffer.alloc(size, 'o') })
    const request = begin(endpoint.url, { path: objectPath })
    request.end()
    const [response] = await once(request, 'response')
    response.pause()
    await send(endpoint.url, { path: objectPath, ...change })
    let bytes = 0
    for await (const chunk of response) {
      bytes += chunk.length
      expect(chunk.every((byte: number) => byte === 0x6f)).toBe(true)
    }
    expect(bytes).toBe(size)
  })

  test('may be interrupted without harm', async () => {
    await send(endpoint.url, { method: 'PUT', path: objectPath, body: Buffer.alloc(size, 'o') })
    const request = begin(endpoint.url, { path: objectPath })
    request.end()
    await once(request, 'response')
    request.destroy()
    expect(await send(endpoint.url, { method: 'HEAD', path: objectPath })).toMatchObject({ status: 200 })
  })
})

describe('closing', () => {
  test('ends open connections, even during an upload, and leaves nothing of the upload', async (context) => {
    const until = (end: () => Promise<void>) => context.onTestFinished(end)
    const root = await makeDirectory(until)
    const running = await runEndpoint({ root }, () => undefined)
    const request = begin(running.url, {
      method: 'PUT',
      path: objectPath,
      headers: { 'content-length': '2000' },
      payloadHash: 'UNSIGNED-PAYLOAD',
    })
    const failed = once(request, 'error').catch((error: unknown) => [error])
    request.write('beginning')
    await vi.waitFor(async () => expect(await readdir(join(root, 'temporary'))).toHaveLength(1), { timeout: 5000 })
    await running.close()
    await failed
    expect(await readdir(join(root, 'temporary'))).toEqual([])
  })

  test('and starting again on another port keeps the objects', async (context) => {
    const until = (end: () => Promise<void>) => context.onTestFinished(end)
    const root = await makeDirectory(until)
    const first = await runEndpoint({ root }, () => undefined)
    await send(first.url, { method: 'PUT', path: objectPath, body: 'kept' })
    await first.close()
    const second = await runEndpoint({ root }, until)
    expect(await send(second.url, { path: objectPath })).toMatchObject({ text: 'kept' })
  })

  test('starting on a port in use is an error', async () => {
    await expect(runEndpoint({ port: endpoint.port })).rejects.toThrow('EADDRINUSE')
  })
})
