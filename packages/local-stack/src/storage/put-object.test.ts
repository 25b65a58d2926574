import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { send } from '@sluice/s3-endpoint/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { type RunningEndpoint, runEndpoint, testBucket } from './start.fixture.ts'

const objectBody = 'user_id,age\nu1,1\n'
const objectMd5 = createHash('md5').update(objectBody).digest('base64')
const otherMd5 = createHash('md5').update('other').digest('base64')
const Bucket = testBucket

let endpoint: RunningEndpoint
beforeEach(async (context) => {
  endpoint = await runEndpoint({}, (end) => context.onTestFinished(end))
})

async function stored(key: string): Promise<string | undefined> {
  const answer = await send(endpoint.url, { path: `/${testBucket}/${key}` })
  return answer.status === 200 ? answer.text : undefined
}

describe('an upload by a pre-signed address', () => {
  /** Pre-signs an address like the service does: type, size and digest are signed. */
  async function preSign(expiresIn = 300, signingDate = new Date()): Promise<string> {
    const client = endpoint.client({ requestChecksumCalculation: 'WHEN_REQUIRED' })
    const command = new PutObjectCommand({
      Bucket,
      Key: 'pre signed.csv',
      ContentType: 'text/csv',
      ContentLength: objectBody.length,
      ContentMD5: objectMd5,
    })
    const signableHeaders = new Set(['host', 'content-type', 'content-md5', 'content-length'])
    return getSignedUrl(client, command, { expiresIn, signingDate, signableHeaders })
  }

  async function upload(url: string, body: string, headers: Record<string, string>) {
    const response = await fetch(url, { method: 'PUT', body, headers })
    return { status: response.status, text: await response.text() }
  }

  test('is stored if it is what was signed', async () => {
    const url = await preSign()
    expect(await upload(url, objectBody, { 'content-type': 'text/csv', 'content-md5': objectMd5 })).toEqual({
      status: 200,
      text: '',
    })
    expect(await stored('pre%20signed.csv')).toBe(objectBody)
    const head = await endpoint.client().send(new HeadObjectCommand({ Bucket, Key: 'pre signed.csv' }))
    expect(head.ContentType).toBe('text/csv')
    expect(head.ETag).toBe(`"${createHash('md5').update(objectBody).digest('hex')}"`)
  })

  test.each<[string, string, Record<string, string>, number, string]>([
    ['another body of the same size', objectBody.replace('u1', 'u2'), {}, 400, 'BadDigest'],
    ['a longer body', `${objectBody}u2,2\n`, {}, 403, 'SignatureDoesNotMatch'],
    ['a shorter body', objectBody.slice(1), {}, 403, 'SignatureDoesNotMatch'],
    ['another type', objectBody, { 'content-type': 'application/gzip' }, 403, 'SignatureDoesNotMatch'],
    ['another digest', objectBody, { 'content-md5': otherMd5 }, 403, 'SignatureDoesNotMatch'],
    ['a further x-amz header', objectBody, { 'x-amz-meta-a': 'b' }, 403, 'AccessDenied'],
  ])('is refused with %s', async (_name, body, headers, status, code) => {
    const answer = await upload(await preSign(), body, {
      'content-type': 'text/csv',
      'content-md5': objectMd5,
      ...headers,
    })
    expect(answer).toEqual({ status, text: expect.stringContaining(`<Code>${code}</Code>`) })
    expect(await stored('pre%20signed.csv')).toBeUndefined()
  })

  test('is refused without the signed digest', async () => {
    const answer = await upload(await preSign(), objectBody, { 'content-type': 'text/csv' })
    expect(answer).toEqual({ status: 403, text: expect.stringContaining('SignatureDoesNotMatch') })
  })

  test.each<[string, (url: string) => string]>([
    ['another key', (url) => url.replace('signed.csv', 'signed.csx')],
    ['a longer validity', (url) => url.replace('Expires=300', 'Expires=301')],
    ['a digit of the signature', (url) => url.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))],
    ['a further parameter', (url) => `${url}&x-amz-acl=private`],
  ])('is refused with %s', async (_name, alter) => {
    const url = await preSign()
    const end = /X-Amz-Signature=[0-9a-f]{64}/.exec(url)?.[0] ?? ''
    // The alterations expect the signature at the end.
    const answer = await upload(alter(`${url.replace(`&${end}`, '')}&${end}`), objectBody, {
      'content-type': 'text/csv',
      'content-md5': objectMd5,
    })
    expect(answer).toEqual({ status: 403, text: expect.stringContaining('SignatureDoesNotMatch') })
  })

  test('is refused after the address has expired', async () => {
    const url = await preSign(300, new Date(Date.now() - 301_000))
    const answer = await upload(url, objectBody, { 'content-type': 'text/csv', 'content-md5': objectMd5 })
    expect(answer.status).toBe(403)
    expect(answer.text).toContain('<Message>Request has expired</Message>')
  })

  test('does not allow a download', async () => {
    const response = await fetch(await preSign())
    expect([response.status, (await response.text()).includes('SignatureDoesNotMatch')]).toEqual([403, true])
  })

  test('accepts no other body if it signs the checksum of an empty body, as in S3', async () => {
    const url = await getSignedUrl(endpoint.client(), new PutObjectCommand({ Bucket, Key: 'k' }), { expiresIn: 60 })
    expect(await upload(url, objectBody, {})).toMatchObject({ status: 400, text: expect.stringContaining('BadDigest') })
  })
})

describe('an upload with the SDK and its default settings', () => {
  test.each(['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const)(
    'is verified by %s and returns that checksum, for bytes and for streams',
    async (ChecksumAlgorithm) => {
      const client = endpoint.client()
      const put = await client.send(new PutObjectCommand({ Bucket, Key: 'bytes', Body: objectBody, ChecksumAlgorithm }))
      const Body = Readable.from([Buffer.from(objectBody)])
      const ContentLength = objectBody.length
      await client.send(new PutObjectCommand({ Bucket, Key: 'stream', Body, ContentLength, ChecksumAlgorithm }))
      expect(put[`Checksum${ChecksumAlgorithm}`]).toBeTruthy()
      expect(await stored('stream')).toBe(objectBody)
    },
  )
})

describe('an upload is refused, and nothing is stored, if', () => {
  const path = `/${testBucket}/k`
  const put = (options: object) => send(endpoint.url, { method: 'PUT', path, body: objectBody, ...options })

  test.each<[string, object, number, string]>([
    ['its SHA-256 is not the signed one', { payloadHash: 'a'.repeat(64) }, 400, 'XAmzContentSHA256Mismatch'],
    ['its MD5 is not the declared one', { headers: { 'content-md5': otherMd5 } }, 400, 'BadDigest'],
    ['its Content-MD5 is malformed', { headers: { 'content-md5': 'AAAA' } }, 400, 'InvalidDigest'],
    ['its CRC is not the declared one', { headers: { 'x-amz-checksum-crc32': 'AAAAAA==' } }, 400, 'BadDigest'],
    [
      'its size is unknown',
      { headers: { 'transfer-encoding': 'chunked' }, body: undefined },
      411,
      'MissingContentLength',
    ],
    ['its bucket is missing', { path: '/other-bucket/k' }, 404, 'NoSuchBucket'],
    ['it has a condition', { headers: { 'if-none-match': '*' } }, 501, 'NotImplemented'],
    ['it asks for encryption', { headers: { 'x-amz-server-side-encryption': 'AES256' } }, 501, 'NotImplemented'],
    ['it asks for public access', { headers: { 'x-amz-acl': 'public-read' } }, 400, 'AccessControlListNotSupported'],
    ['it asks for cold storage', { headers: { 'x-amz-storage-class': 'GLACIER' } }, 400, 'InvalidStorageClass'],
    ['its metadata is too large', { headers: { 'x-amz-meta-a': 'x'.repeat(2048) } }, 400, 'MetadataTooLarge'],
    ['it sets a tag', { path: `${path}?tagging` }, 501, 'NotImplemented'],
    ['its key is too long', { path: `/${testBucket}/${'k'.repeat(1025)}` }, 400, 'KeyTooLongError'],
  ])('%s', async (_name, options, status, code) => {
    expect(await put(options)).toMatchObject({ status, code })
    expect(await stored('k')).toBeUndefined()
  })

  test('its chunks have fewer or more bytes than declared, or the declared trailer is missing or wrong', async () => {
    const chunked = (body: string, headers: Record<string, string> = {}) => {
      const payloadHash = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
      return put({ body, payloadHash, headers: { 'x-amz-decoded-content-length': '5', ...headers } })
    }
    expect(await chunked('4\r\nabcd\r\n0\r\n\r\n')).toMatchObject({ status: 400, code: 'IncompleteBody' })
    expect(await chunked('6\r\nabcdef\r\n0\r\n\r\n')).toMatchObject({ status: 400, code: 'IncompleteBody' })
    expect(await chunked('5\r\nabcd')).toMatchObject({ status: 400, code: 'IncompleteBody' })
    const trailer = { 'x-amz-trailer': 'x-amz-checksum-crc32' }
    expect(await chunked('5\r\nabcde\r\n0\r\n\r\n', trailer)).toMatchObject({ code: 'MalformedTrailerError' })
    expect(await chunked('5\r\nabcde\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n', trailer)).toMatchObject({
      code: 'BadDigest',
    })
    expect(await stored('k')).toBeUndefined()
    expect(await chunked('5\r\nabcde\r\n0\r\nx-amz-checksum-crc32:hYfYZQ==\r\n\r\n', trailer)).toMatchObject({
      status: 200,
    })
    expect(await stored('k')).toBe('abcde')
  })
})
