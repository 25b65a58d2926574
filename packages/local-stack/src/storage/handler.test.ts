import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { CreateBucketCommand, GetBucketLocationCommand, HeadBucketCommand } from '@aws-sdk/client-s3'
import { type Authorize, createS3Server, type S3ServerOptions } from '@sluice/s3-endpoint'
import { begin, type RawRequest, send, testCredentials, testRegion } from '@sluice/s3-endpoint/testing'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createDiskBackend } from './backend.ts'
import { fileTeardown, makeDirectory, type RunningEndpoint, runEndpoint, testBucket } from './start.fixture.ts'

const objectPath = `/${testBucket}/k`
const emptyMd5 = createHash('md5').update('').digest('base64')

let endpoint: RunningEndpoint
beforeAll(async () => {
  const { until, end } = fileTeardown()
  endpoint = await runEndpoint({}, until)
  await send(endpoint.url, { method: 'PUT', path: objectPath, body: 'x' })
  return end
})

describe('without a signature everything is refused', () => {
  test.each([
    ['GET', '/'],
    ['GET', `/${testBucket}`],
    ['GET', objectPath],
    ['HEAD', objectPath],
    ['PUT', objectPath],
    ['DELETE', objectPath],
    ['POST', `/${testBucket}?delete`],
    ['POST', `/${testBucket}`],
    ['GET', '/no-bucket'],
    ['PATCH', objectPath],
  ])('%s %s', async (method, path) => {
    const response = await fetch(endpoint.url + path, { method })
    expect(response.status).toBe(403)
    if (method !== 'HEAD') expect(await response.text()).toContain('<Code>AccessDenied</Code>')
  })
})

describe('a request is refused', () => {
  test.each<[string, Partial<RawRequest>, number, string]>([
    ['with a wrong secret', { secretAccessKey: 'wrong' }, 403, 'SignatureDoesNotMatch'],
    ['with an unknown access key', { accessKeyId: 'AKIDOTHER' }, 403, 'InvalidAccessKeyId'],
    ['for another region', { region: 'eu-west-1' }, 400, 'AuthorizationHeaderMalformed'],
    ['from a clock that is slow', { signedAt: new Date(Date.now() - 16 * 60_000) }, 403, 'RequestTimeTooSkewed'],
    ['from a clock that is fast', { signedAt: new Date(Date.now() + 16 * 60_000) }, 403, 'RequestTimeTooSkewed'],
    ['with an unsigned x-amz header', { unsigned: { 'x-amz-acl': 'private' } }, 403, 'AccessDenied'],
    ['with a session token', { headers: { 'x-amz-security-token': 't' } }, 400, 'InvalidToken'],
    ['signed twice', { path: `${objectPath}?X-Amz-Signature=${'a'.repeat(64)}` }, 400, 'InvalidArgument'],
    ['with two digests', { unsigned: { 'content-md5': ['a', 'b'] } }, 400, 'InvalidRequest'],
    [
      'with a header that the operation does not know',
      { headers: { 'x-amz-object-lock-mode': 'X' } },
      501,
      'NotImplemented',
    ],
  ])('%s', async (_name, options, status, code) => {
    expect(await send(endpoint.url, { path: objectPath, ...options })).toMatchObject({ status, code })
  })

  test('with a pre-signed address of Signature V2', async () => {
    const response = await fetch(`${endpoint.url}${objectPath}?AWSAccessKeyId=AKIDTEST&Expires=9999999999&Signature=x`)
    expect([response.status, (await response.text()).includes('AWS4-HMAC-SHA256')]).toEqual([400, true])
  })

  test('with a document that names the reason, the resource and the request', async () => {
    const { text, headers } = await send(endpoint.url, { path: `/${testBucket}/%3Cnone%3E` })
    const id = headers['x-amz-request-id']
    expect(headers['content-type']).toBe('application/xml')
    expect(text).toBe(
      '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.' +
        `</Message><Key>&#60;none&#62;</Key><Resource>/${testBucket}/%3Cnone%3E</Resource><RequestId>${id}</RequestId></Error>`,
    )
  })

  test('if its operation is not implemented', async () => {
    const operations: [string, string][] = [
      ['GET', `${objectPath}?acl`],
      ['PUT', `${objectPath}?acl`],
      ['PUT', `${objectPath}?partNumber=1`],
      ['DELETE', `${objectPath}?versionId=1`],
      ['GET', `/${testBucket}?policy`],
      ['DELETE', `/${testBucket}`],
      ['PUT', `/${testBucket}?versioning`],
      ['GET', '/'],
      ['POST', '/'],
      ['PATCH', objectPath],
      ['GET', `/${testBucket}?list-type=3`],
    ]
    for (const [method, path] of operations) {
      expect(await send(endpoint.url, { method, path }), `${method} ${path}`).toMatchObject({
        status: 501,
        code: 'NotImplemented',
      })
    }
    expect(await send(endpoint.url, { path: objectPath })).toMatchObject({ status: 200, text: 'x' })
  })
})

test('a signature is valid however the client escapes its path', async () => {
  const body = 'x'
  expect(await send(endpoint.url, { method: 'PUT', path: `/${testBucket}/a(b)*'!$,`, body })).toMatchObject({
    status: 200,
  })
  expect(await send(endpoint.url, { path: `/${testBucket}/a%28b%29%2a%27%21%24%2c` })).toMatchObject({ status: 200 })
})

test('buckets are created, found and located', async () => {
  const client = endpoint.client()
  await client.send(new HeadBucketCommand({ Bucket: testBucket }))
  await expect(client.send(new HeadBucketCommand({ Bucket: 'no-bucket' }))).rejects.toMatchObject({ name: 'NotFound' })
  expect((await client.send(new GetBucketLocationCommand({ Bucket: testBucket }))).LocationConstraint).toBeUndefined()
  await client.send(new CreateBucketCommand({ Bucket: 'another-bucket' }))
  const again = client.send(new CreateBucketCommand({ Bucket: 'another-bucket' }))
  await expect(again).rejects.toMatchObject({ name: 'BucketAlreadyOwnedByYou' })
  const elsewhere = { Bucket: 'third', CreateBucketConfiguration: { LocationConstraint: 'eu-west-1' as const } }
  await expect(client.send(new CreateBucketCommand(elsewhere))).rejects.toMatchObject({ name: 'NotImplemented' })
})

/** Starts a server with hooks over a directory of its own. Returns its address. */
async function runWith(hooks: Pick<S3ServerOptions<string>, 'authorize' | 'admit'>): Promise<string> {
  const backend = await createDiskBackend({ root: await makeDirectory() })
  await backend.createBucket(testBucket)
  await backend.createBucket('other-bucket')
  const { secretAccessKey } = testCredentials
  const server = createS3Server({
    backend,
    region: testRegion,
    ...hooks,
    // Each access key that begins with AKID belongs to a sender of its own. All have the same secret.
    findCredentials: async (id) => (id.startsWith('AKID') ? { secretAccessKey, identity: id.slice(4) } : undefined),
  })
  server.http.listen(0, '127.0.0.1')
  await once(server.http, 'listening')
  onTestFinished(async () => {
    server.http.close()
    server.http.closeAllConnections()
    await server.idle()
  })
  const address = server.http.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

describe('the authorisation hook', () => {
  type Asked = Parameters<Authorize<string>>

  test('denies every operation that is not implemented, even if it allows everything', async () => {
    const url = await runWith({ authorize: () => true })
    for (const [method, path] of [
      ['GET', `${objectPath}?acl`],
      ['DELETE', `/${testBucket}`],
      ['GET', `/${testBucket}?policy`],
      ['PATCH', objectPath],
    ] as const) {
      expect(await send(url, { method, path }), `${method} ${path}`).toMatchObject({
        status: 403,
        code: 'AccessDenied',
      })
    }
  })

  test('is called with sender, operation and object, and refuses with AccessDenied', async () => {
    const asked: Asked[] = []
    const authorize: Authorize<string> = (...question) => {
      asked.push(question)
      return question[0] === 'TEST' && question[3].startsWith('mine/')
    }
    const url = await runWith({ authorize })
    const put = { method: 'PUT', body: 'x' }
    expect(await send(url, { ...put, path: `/${testBucket}/mine/a` })).toMatchObject({ status: 200 })
    expect(await send(url, { ...put, path: `/${testBucket}/yours/a` })).toMatchObject({
      status: 403,
      code: 'AccessDenied',
    })
    expect(await send(url, { ...put, path: `/${testBucket}/mine/a`, accessKeyId: 'AKIDOTHER' })).toMatchObject({
      status: 403,
    })
    expect(await send(url, { path: `/${testBucket}?list-type=2&prefix=mine/` })).toMatchObject({ status: 200 })
    expect(await send(url, { path: `/${testBucket}?list-type=2` })).toMatchObject({ status: 403 })
    expect(asked).toEqual([
      ['TEST', 'PutObject', testBucket, 'mine/a'],
      ['TEST', 'PutObject', testBucket, 'yours/a'],
      ['OTHER', 'PutObject', testBucket, 'mine/a'],
      ['TEST', 'ListObjectsV2', testBucket, 'mine/'],
      ['TEST', 'ListObjectsV2', testBucket, ''],
    ])
  })

  test('denies requests that name further objects, even if it allows everything', async () => {
    const url = await runWith({ authorize: () => true })
    const copy = { method: 'PUT', path: objectPath, headers: { 'x-amz-copy-source': `/${testBucket}/secret` } }
    expect(await send(url, copy)).toMatchObject({ status: 403, code: 'AccessDenied' })
    const body = '<Delete><Object><Key>secret</Key></Object></Delete>'
    const headers = { 'content-md5': createHash('md5').update(body).digest('base64') }
    const removal = { method: 'POST', path: `/${testBucket}?delete`, body, headers }
    expect(await send(url, removal)).toMatchObject({ status: 403, code: 'AccessDenied' })
  })
})

test('a request stays admitted until the client has read the answer or has disconnected', async () => {
  let admitted = 0
  const url = await runWith({
    admit: async () => {
      admitted++
      return () => admitted--
    },
  })
  await send(url, { method: 'PUT', path: objectPath, body: Buffer.alloc(20 * 2 ** 20) })
  const download = begin(url, { path: objectPath })
  download.on('error', () => {}).end()
  await once(download, 'response')
  expect(await send(url, { method: 'HEAD', path: objectPath })).toMatchObject({ status: 200 })
  await vi.waitFor(() => expect(admitted).toBe(1))
  download.destroy()
  await vi.waitFor(() => expect(admitted).toBe(0))
})

test('a signed Content-MD5 of a GET is ignored', async () => {
  const answer = await send(endpoint.url, { path: objectPath, headers: { 'content-md5': emptyMd5 } })
  expect(answer).toMatchObject({ status: 200 })
})
