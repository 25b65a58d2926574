import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { send } from '@sluice/s3-endpoint/testing'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { type RunningEndpoint, runEndpoint, testBucket } from './start.fixture.ts'

const objectBody = '0123456789'
const Bucket = testBucket
const Key = 'k'
const objectPath = `/${testBucket}/k`

let endpoint: RunningEndpoint
beforeEach(async (context) => {
  endpoint = await runEndpoint({}, (end) => context.onTestFinished(end))
  await endpoint.client().send(
    new PutObjectCommand({
      Bucket,
      Key,
      Body: objectBody,
      ContentType: 'text/csv',
      Metadata: { owner: 'someone' },
    }),
  )
})

describe('reading an object', () => {
  test('returns the bytes and the metadata, by GET and by HEAD', async () => {
    const client = endpoint.client()
    const get = await client.send(new GetObjectCommand({ Bucket, Key }))
    const head = await client.send(new HeadObjectCommand({ Bucket, Key }))
    expect(await get.Body?.transformToString()).toBe(objectBody)
    for (const answer of [get, head]) {
      expect(answer).toMatchObject({
        ContentLength: 10,
        ContentType: 'text/csv',
        Metadata: { owner: 'someone' },
        ETag: '"781e5e245d69b566979b86e28d23f2c7"',
      })
    }
  })

  test.each([
    ['bytes=0-0', '0', 'bytes 0-0/10'],
    ['bytes=-5', '56789', 'bytes 5-9/10'],
    ['bytes=5-', '56789', 'bytes 5-9/10'],
    ['bytes=8-100', '89', 'bytes 8-9/10'],
  ])('in the range %s gives %s', async (range, text, contentRange) => {
    const answer = await send(endpoint.url, { path: objectPath, headers: { range } })
    expect(answer).toMatchObject({ status: 206, text })
    expect(answer.headers).toMatchObject({ 'content-range': contentRange, 'content-length': String(text.length) })
    const head = await send(endpoint.url, { method: 'HEAD', path: objectPath, headers: { range } })
    expect(head).toMatchObject({ status: 206, text: '', headers: { 'content-range': contentRange } })
  })

  test('in a range after its end is refused with its size', async () => {
    const answer = await send(endpoint.url, { path: objectPath, headers: { range: 'bytes=10-' } })
    expect(answer).toMatchObject({ status: 416, code: 'InvalidRange' })
    expect(answer.headers['content-range']).toBe('bytes */10')
  })

  test('obeys If-Match', async () => {
    const answer = await send(endpoint.url, { path: objectPath, headers: { 'if-match': '"x"' } })
    expect(answer).toMatchObject({ status: 412, code: 'PreconditionFailed' })
  })

  test('by a pre-signed address can override type and file name if they are signed', async () => {
    const command = new GetObjectCommand({
      Bucket,
      Key,
      ResponseContentType: 'text/plain',
      ResponseContentDisposition: 'attachment; filename="errors.csv"',
    })
    const url = await getSignedUrl(endpoint.client(), command)
    const response = await fetch(url)
    expect(await response.text()).toBe(objectBody)
    expect(response.headers.get('content-type')).toBe('text/plain')
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="errors.csv"')
    expect((await fetch(url.replace('errors.csv', 'virus.exe'))).status).toBe(403)
    expect((await fetch(url.replace(/&response-content-type=[^&]*/, ''))).status).toBe(403)
  })

  test('cannot be used to add other headers', async () => {
    const path = `${objectPath}?response-content-type=${encodeURIComponent('a\r\nset-cookie: b')}`
    expect(await send(endpoint.url, { path })).toMatchObject({ status: 400, code: 'InvalidArgument' })
  })

  test('is refused if it is missing, but not if it is empty', async () => {
    expect(await send(endpoint.url, { path: `/${testBucket}/none` })).toMatchObject({ status: 404, code: 'NoSuchKey' })
    expect(await send(endpoint.url, { path: '/no-bucket/none' })).toMatchObject({ status: 404, code: 'NoSuchBucket' })
    expect(await send(endpoint.url, { method: 'HEAD', path: `/${testBucket}/none` })).toMatchObject({
      status: 404,
      text: '',
    })
    await send(endpoint.url, { method: 'PUT', path: `/${testBucket}/empty`, body: '' })
    expect(await send(endpoint.url, { path: `/${testBucket}/empty` })).toMatchObject({ status: 200, text: '' })
  })
})

test('keys of any form are distinct and stay inside the bucket', async () => {
  const client = endpoint.client()
  const key = fc.oneof(
    fc.constantFrom(
      '..',
      '../../x',
      'a/../b',
      'A',
      'a',
      '/',
      '//',
      'a/',
      '%2e%2e',
      '%00',
      'é',
      'e\u0301',
      ' ',
      '+',
      '?#&=',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 100 }).filter((text) => !text.includes('\0')),
  )
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(key, { minLength: 1, maxLength: 4 }), async (keys) => {
      for (const one of keys) await client.send(new PutObjectCommand({ Bucket, Key: one, Body: `body of ${one}` }))
      for (const one of keys) {
        const path = `/${testBucket}/${encodeURIComponent(one)}`
        expect((await send(endpoint.url, { path })).text).toBe(`body of ${one}`)
      }
    }),
    { numRuns: 25 },
  )
})

test('deleting removes the object, and succeeds if there is none', async () => {
  const client = endpoint.client()
  await client.send(new DeleteObjectCommand({ Bucket, Key }))
  await client.send(new DeleteObjectCommand({ Bucket, Key }))
  expect(await send(endpoint.url, { path: objectPath })).toMatchObject({ code: 'NoSuchKey' })
})

describe('copying an object', () => {
  const CopySource = `${testBucket}/${Key}`

  test('keeps its metadata', async () => {
    const client = endpoint.client()
    await client.send(new CopyObjectCommand({ Bucket, Key: 'copy ü', CopySource }))
    const copy = await client.send(new GetObjectCommand({ Bucket, Key: 'copy ü' }))
    expect(await copy.Body?.transformToString()).toBe(objectBody)
    expect(copy).toMatchObject({ ContentType: 'text/csv', Metadata: { owner: 'someone' } })
  })

  test.each([
    ['onto itself unchanged', CopySource, {}, 'InvalidRequest'],
    ['of a missing object', `${testBucket}/none`, {}, 'NoSuchKey'],
    ['from a missing bucket', 'no-bucket/k', {}, 'NoSuchBucket'],
    ['of a version', `${CopySource}?versionId=1`, {}, 'NotImplemented'],
    ['from outside the storage', '../../etc/passwd', {}, 'InvalidBucketName'],
    ['with other metadata', CopySource, { MetadataDirective: 'REPLACE' }, 'NotImplemented'],
    ['with a checksum', CopySource, { ChecksumAlgorithm: 'CRC32' }, 'NotImplemented'],
    ['under a condition that fails', CopySource, { CopySourceIfMatch: '"x"' }, 'PreconditionFailed'],
  ] as const)('%s is refused', async (_name, source, options, name) => {
    const Key = name === 'InvalidRequest' ? 'k' : 'copy'
    const copy = new CopyObjectCommand({ Bucket, Key, CopySource: source, ...options })
    await expect(endpoint.client().send(copy)).rejects.toMatchObject({ name })
  })
})
