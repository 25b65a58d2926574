import { createHash } from 'node:crypto'
import { CreateMultipartUploadCommand, ListMultipartUploadsCommand, UploadPartCommand } from '@aws-sdk/client-s3'
import { deleteAccessKey } from '@sluice/access-keys'
import { sql } from '@sluice/database'
import { answerOf, begin, type RawRequest } from '@sluice/s3-endpoint/testing'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { type Owner, openTestGateway } from './test-gateway.ts'

// Requests that the S3 gateway refuses. No part of them reaches storage or becomes an import.
const gateway = openBeforeAll(openTestGateway)
let owner: Owner
let other: Owner

beforeAll(async () => {
  owner = await gateway.openOwner()
  other = await gateway.openOwner()
})

afterEach(async () => {
  gateway.moveClock(0)
  for (const each of [owner, other]) expect(await gateway.importsOf(each)).toEqual([])
  expect(await stored()).toEqual([])
})

const file = 'user_id,name\nalice,Alice\n'
const minute = 60_000
const at = (key: string) => `/${gateway.bucket}/${key}`
const mine = (name: string) => at(`${owner.path}${name}`)

/** Returns the keys of all objects in the bucket. */
async function stored(): Promise<string[]> {
  const keys: string[] = []
  for await (const page of gateway.maintenance.storage.list('')) keys.push(...page.map(({ key }) => key))
  return keys
}

const put = (path: string, more: Partial<RawRequest> = {}) => {
  return gateway.send(owner, { method: 'PUT', path, body: file, ...more })
}

describe('an upload is refused', () => {
  test.each<[string, Partial<RawRequest>, string]>([
    ['a wrong secret', { secretAccessKey: 'wrong' }, 'SignatureDoesNotMatch'],
    ['an unknown key', { accessKeyId: 'SLC1K0123456789ABCDEF' }, 'InvalidAccessKeyId'],
    ['a malformed key', { accessKeyId: '../../etc/passwd' }, 'AuthorizationHeaderMalformed'],
    ['another region', { region: 'eu-west-1' }, 'AuthorizationHeaderMalformed'],
    [
      'another body than the signed body',
      { payloadHash: createHash('sha256').update('x').digest('hex') },
      'XAmzContentSHA256Mismatch',
    ],
  ])('with %s', async (_, more, code) => {
    expect(await put(mine('a.csv'), more)).toMatchObject({ code })
  })

  // design.md §4, Isolation.
  test("with the secret of another app's key", async () => {
    const mixed = { accessKeyId: owner.accessKeyId, secretAccessKey: other.secretAccessKey }
    expect(await put(mine('a.csv'), mixed)).toMatchObject({ code: 'SignatureDoesNotMatch' })
  })

  test('without a signature', async () => {
    const answer = await fetch(`${gateway.url}${mine('a.csv')}`, { method: 'PUT', body: file })
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('<Code>AccessDenied</Code>')])
  })

  test('with a key that was deleted a moment ago', async () => {
    const late = await gateway.openOwner()
    const request = { path: at(`${late.path}a.csv`), method: 'HEAD' }
    expect(await gateway.send(late, request)).toMatchObject({ status: 404 })
    await deleteAccessKey(gateway.db, late.appId, late.accessKeyId)
    expect(await gateway.send(late, request)).toMatchObject({ status: 403 })
  })

  test.each([15.2, -15.2])('with a clock that is %d minutes off', async (minutes) => {
    gateway.moveClock(minutes * minute)
    expect(await put(mine('a.csv'))).toMatchObject({ status: 403, code: 'RequestTimeTooSkewed' })
  })

  test.each([14.8, -14.8])('but not with a clock that is only %d minutes off', async (minutes) => {
    gateway.moveClock(minutes * minute)
    expect(await gateway.send(owner, { method: 'HEAD', path: mine('a.csv') })).toMatchObject({ status: 404 })
  })
})

describe('an upload outside the own path', () => {
  test.each<[string, () => string]>([
    ["another app's path", () => at(`${other.path}a.csv`)],
    ["another app's path by way of its own", () => mine(`../${other.appId}/a.csv`)],
    ['the same, encoded', () => mine(`..%2F${other.appId}%2Fa.csv`)],
    ['the same, encoded twice', () => mine(`..%252F${other.appId}%252Fa.csv`)],
    ['a path that begins like its own', () => at(`${owner.path.slice(0, -1)}0/a.csv`)],
    ['what imports have stored', () => at(`apps/${owner.appId}/imports/x/upload`)],
    ['the top of the bucket', () => at('a.csv')],
    ['another bucket', () => `/sluice-other/${owner.path}a.csv`],
    ['a folder in its path', () => mine('folder/a.csv')],
    ['an encoded slash', () => mine('folder%2Fa.csv')],
    ['an encoded slash in lower case', () => mine('folder%2fa.csv')],
    ['an encoded slash, encoded again', () => mine('folder%252fa.csv')],
    ['a space', () => mine('a%20b.csv')],
    ['a tab', () => mine('a%09b.csv')],
    ['a line break', () => mine('a%0Ab.csv')],
    ['a wide space', () => mine('a%E3%80%80b.csv')],
    ['the folder above', () => mine('..')],
    ['the path itself', () => mine('')],
  ])('is refused: %s', async (_, path) => {
    expect(await put(path())).toMatchObject({ status: 403, code: 'AccessDenied' })
    const begun = { method: 'POST', path: `${path()}?uploads` }
    expect(await gateway.send(owner, begun)).toMatchObject({ status: 403, code: 'AccessDenied' })
  })

  test('is refused if the key has a broken escape or a NUL', async () => {
    expect(await put(mine('a%ZZ.csv'))).toMatchObject({ status: 400, code: 'InvalidURI' })
    expect(await put(mine('a%00.csv'))).toMatchObject({ status: 400, code: 'InvalidArgument' })
  })

  test("is refused in every operation on another app's files and uploads", async () => {
    const client = gateway.clientOf(other)
    const target = { Bucket: gateway.bucket, Key: `${other.path}a.csv` }
    const { UploadId: id = '' } = await client.send(new CreateMultipartUploadCommand(target))
    const query = `uploadId=${id}`
    const theirs = at(`${other.path}a.csv`)
    for (const [method, path] of [
      ['HEAD', theirs],
      ['DELETE', theirs],
      ['GET', `/${gateway.bucket}?list-type=2&prefix=${encodeURIComponent(other.path)}`],
      ['GET', `/${gateway.bucket}?list-type=2`],
      ['GET', `/${gateway.bucket}?list-type=2&prefix=gateway%2F`],
      ['GET', `/${gateway.bucket}?list-type=2&prefix=${encodeURIComponent(owner.path.slice(0, -1))}`],
      ['GET', `/${gateway.bucket}?uploads&prefix=${encodeURIComponent(other.path)}`],
      ['GET', `${theirs}?${query}`],
      ['PUT', `${theirs}?partNumber=1&${query}`],
      ['DELETE', `${theirs}?${query}`],
    ] as const) {
      expect(await gateway.send(owner, { method, path }), `${method} ${path}`).toMatchObject({ status: 403 })
    }
    // The upload of the other app does not exist under a name in the own path.
    expect(await put(`${mine('a.csv')}?partNumber=1&${query}`)).toMatchObject({ status: 404, code: 'NoSuchUpload' })
    const { Uploads } = await client.send(
      new ListMultipartUploadsCommand({ Bucket: gateway.bucket, Prefix: other.path }),
    )
    expect(Uploads).toMatchObject([{ Key: target.Key, UploadId: id }])
    expect(await gateway.send(other, { method: 'DELETE', path: `${theirs}?${query}` })).toMatchObject({ status: 204 })
  })
})

test.each([
  ['GET', ''],
  ['GET', '?acl'],
  ['PUT', '?acl'],
  ['PUT', '?tagging'],
  ['POST', '?select&select-type=2'],
  ['PATCH', ''],
])('an operation that is not allowed is denied: %s a file %s', async (method, query) => {
  expect(await gateway.send(owner, { method, path: `${mine('a.csv')}${query}` })).toMatchObject({
    code: 'AccessDenied',
  })
})

test.each([
  ['GET', '/', ''],
  ['DELETE', '', ''],
  ['GET', '', '?policy'],
  ['PUT', '', '?policy'],
  ['POST', '', '?delete'],
  ['GET', '', '?versions'],
])('an operation that is not allowed is denied: %s %s the bucket %s', async (method, root, query) => {
  const path = root === '/' ? '/' : `/${gateway.bucket}${query}`
  expect(await gateway.send(owner, { method, path })).toMatchObject({ status: 403, code: 'AccessDenied' })
})

test('no bucket can be created: the own bucket exists, and other buckets are denied', async () => {
  const own = await gateway.send(owner, { method: 'PUT', path: `/${gateway.bucket}` })
  expect(own).toMatchObject({ status: 409, code: 'BucketAlreadyOwnedByYou' })
  expect(await gateway.send(owner, { method: 'PUT', path: '/new-bucket' })).toMatchObject({ code: 'AccessDenied' })
})

test('no object can be copied into the path or out of it', async () => {
  const headers = { 'x-amz-copy-source': `/${gateway.bucket}/apps/${other.appId}/imports/x/upload` }
  expect(await put(mine('a.csv'), { headers })).toMatchObject({ status: 403, code: 'AccessDenied' })
})

describe('a pre-signed address', () => {
  const address = (expiresIn: number) => gateway.presignPut(owner, `${owner.path}a.csv`, expiresIn)
  const answer = async (url: string) => {
    const response = await fetch(url, { method: 'PUT', body: file })
    return [response.status, /<Code>(\w+)<\/Code>/.exec(await response.text())?.[1]]
  }

  test('that has expired is refused', async () => {
    const url = await address(60)
    gateway.moveClock(62_000)
    expect(await answer(url)).toEqual([403, 'AccessDenied'])
  })

  test.each<[string, (url: string) => string]>([
    ['another file', (url) => url.replace('a.csv', 'b.csv')],
    ["another app's path", (url) => url.replace(owner.path, other.path)],
    ['a longer time', (url) => url.replace('X-Amz-Expires=60', 'X-Amz-Expires=6000')],
    ['another key', (url) => url.replace(owner.accessKeyId, other.accessKeyId)],
    ['a further parameter', (url) => `${url}&x-amz-acl=private`],
    ['another signature', (url) => url.replace(/Signature=./, (found) => `Signature=${found.endsWith('0') ? 1 : 0}`)],
  ])('altered to %s is refused', async (_, alter) => {
    const url = await address(60)
    expect(alter(url)).not.toBe(url)
    expect(await answer(alter(url))).toEqual([403, 'SignatureDoesNotMatch'])
  })
})

describe('sizes', () => {
  test.each(['', '?partNumber=1&uploadId=00000000-0000-4000-8000-000000000000'])(
    'more than 1 GiB is refused before any of it is read%s',
    async (query) => {
      const request = begin(gateway.url, {
        ...owner,
        method: 'PUT',
        path: `${mine('a.csv')}${query}`,
        headers: { 'content-length': String(2 ** 30 + 1), expect: '100-continue' },
        payloadHash: 'UNSIGNED-PAYLOAD',
      })
      request.flushHeaders()
      let continued = false
      request.once('continue', () => {
        continued = true
      })
      expect(await answerOf(request)).toMatchObject({ status: 400, code: 'EntityTooLarge' })
      expect(continued).toBe(false)
      request.destroy()
    },
  )

  test('parts with a total of more than 1 GiB cannot be completed to a file', async () => {
    const client = gateway.clientOf(owner)
    const target = { Bucket: gateway.bucket, Key: `${owner.path}a.csv` }
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(target))
    const part = { ...target, UploadId, PartNumber: 1, Body: Buffer.alloc(5 * 2 ** 20) }
    const { ETag = '' } = await client.send(new UploadPartCommand(part))
    // Uploading a gigabyte of parts would take minutes, so the sizes that storage reports are simulated.
    const { storage } = gateway.maintenance
    const listParts = storage.listParts
    storage.listParts = async (...args) => (await listParts(...args)).map((one) => ({ ...one, byteSize: 2 ** 30 + 1 }))
    const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${ETag}</ETag></Part></CompleteMultipartUpload>`
    try {
      const path = `${mine('a.csv')}?uploadId=${UploadId}`
      expect(await gateway.send(owner, { method: 'POST', path, body })).toMatchObject({ code: 'EntityTooLarge' })
      expect(await gateway.send(owner, { method: 'POST', path, body })).toMatchObject({ code: 'NoSuchUpload' })
    } finally {
      storage.listParts = listParts
    }
  })
})

describe('a chunked body', () => {
  /** Returns a body with correct framing and invalid chunk signatures. */
  const chunked = (signature: string) =>
    `19;chunk-signature=${signature}\r\n${file}\r\n0;chunk-signature=${signature}\r\n\r\n`

  test('with altered chunk signatures is refused', async () => {
    const body = chunked('a'.repeat(64))
    const request = {
      body,
      payloadHash: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
      headers: { 'x-amz-decoded-content-length': String(file.length), 'content-encoding': 'aws-chunked' },
    }
    expect(await put(mine('a.csv'), request)).toMatchObject({ status: 403, code: 'SignatureDoesNotMatch' })
  })

  test.each([
    ['another checksum', 'AAAAAA==', 'BadDigest'],
    ['no checksum', '', 'MalformedTrailerError'],
  ])('with a trailer that has %s is refused', async (_, checksum, code) => {
    const trailer = checksum === '' ? '' : `x-amz-checksum-crc32:${checksum}\r\n`
    const request = {
      body: `19\r\n${file}\r\n0\r\n${trailer}\r\n`,
      payloadHash: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      headers: {
        'x-amz-decoded-content-length': String(file.length),
        'content-encoding': 'aws-chunked',
        'x-amz-trailer': 'x-amz-checksum-crc32',
      },
    }
    expect(await put(mine('a.csv'), request)).toMatchObject({ code })
  })

  test('that is cut off leaves no upload', async () => {
    const request = begin(gateway.url, {
      ...owner,
      method: 'PUT',
      path: mine('a.csv'),
      headers: { 'content-length': '2000' },
      payloadHash: 'UNSIGNED-PAYLOAD',
    })
    const failed = new Promise((resolve) => request.once('error', resolve))
    request.write('user_id')
    request.flushHeaders()
    await expect.poll(uploads).toBe(1)
    request.destroy(new Error('cut off'))
    await failed
    await expect.poll(uploads).toBe(0)
  })

  const uploads = async () => {
    const { rows } = await sql<{ count: number }>`select count(*)::integer as count from bucket_uploads`.execute(
      gateway.db,
    )
    return rows[0]?.count
  }
})
