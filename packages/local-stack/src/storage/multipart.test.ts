import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListPartsCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { send } from '@sluice/s3-endpoint/testing'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { fileTeardown, makeDirectory, type RunningEndpoint, runEndpoint, testBucket } from './start.fixture.ts'

const Bucket = testBucket
const Key = 'folder/large ü'
const partBytes = 5 * 1024 * 1024

let endpoint: RunningEndpoint
let client: S3Client
beforeEach(async (context) => {
  endpoint = await runEndpoint({}, (end) => context.onTestFinished(end))
  client = endpoint.client()
})

async function begin(): Promise<string> {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ContentType: 'text/csv' }))
  return UploadId ?? ''
}

async function sendPart(UploadId: string, PartNumber: number, Body: Buffer) {
  const { ETag } = await client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }))
  return { PartNumber, ETag }
}

function complete(UploadId: string, Parts: { PartNumber: number; ETag: string | undefined }[]) {
  return client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }))
}

async function md5OfObject(): Promise<string> {
  const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }))
  return md5((await Body?.transformToByteArray()) ?? '')
}

function md5(data: Uint8Array | string): string {
  return createHash('md5').update(data).digest('hex')
}

describe('a multipart upload', () => {
  // multipart.long.test.ts has the checksums that are not the default.
  test('by lib-storage with its default settings arrives whole', async () => {
    const bytes = randomBytes(partBytes + 1234)
    await new Upload({ client, params: { Bucket, Key, Body: Readable.from([bytes]) } }).done()
    expect(await md5OfObject()).toBe(md5(bytes))
  })

  test('makes an object with the metadata of its beginning and the ETag of S3, and leaves no files', async () => {
    const parts = [randomBytes(partBytes), randomBytes(10)]
    const uploadId = await begin()
    const named = await Promise.all(parts.map((part, index) => sendPart(uploadId, index * 7 + 1, part)))
    await complete(uploadId, named)
    const head = await client.send(new HeadObjectCommand({ Bucket, Key }))
    expect(head.ContentType).toBe('text/csv')
    expect(head.ETag).toBe(`"${md5(Buffer.concat(parts.map((part) => Buffer.from(md5(part), 'hex'))))}-2"`)
    expect(await md5OfObject()).toBe(md5(Buffer.concat(parts)))
    expect(await readdir(join(endpoint.root, 'buckets', testBucket, 'uploads'))).toEqual([])
    expect(await readdir(join(endpoint.root, 'temporary'))).toEqual([])
  })

  test('survives a restart between two parts', async (context) => {
    const until = (end: () => Promise<void>) => context.onTestFinished(end)
    const root = await makeDirectory(until)
    const first = await runEndpoint({ root }, until)
    client = first.client()
    const uploadId = await begin()
    const bytes = [randomBytes(partBytes), randomBytes(100)] as const
    const one = await sendPart(uploadId, 1, bytes[0])
    await first.close()

    const second = await runEndpoint({ root }, until)
    client = second.client()
    expect((await client.send(new ListPartsCommand({ Bucket, Key, UploadId: uploadId }))).Parts).toHaveLength(1)
    const two = await sendPart(uploadId, 2, bytes[1])
    await complete(uploadId, [one, two])
    expect(await md5OfObject()).toBe(md5(Buffer.concat(bytes)))
  })

  test('requires the algorithm of its beginning for its parts, and the checksum that follows from them at its end', async () => {
    const begin = new CreateMultipartUploadCommand({ Bucket, Key, ChecksumAlgorithm: 'SHA256' })
    const { UploadId = '', ...begun } = await client.send(begin)
    const shown = { ChecksumAlgorithm: 'SHA256', ChecksumType: 'COMPOSITE' }
    expect(begun).toMatchObject(shown)
    const list = new ListPartsCommand({ Bucket, Key, UploadId })
    await expect(sendPart(UploadId, 1, Buffer.from('x'))).rejects.toMatchObject({ name: 'InvalidRequest' })
    expect((await client.send(list)).Parts).toBeUndefined()
    const part = new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: 'x', ChecksumAlgorithm: 'SHA256' })
    const { ETag, ChecksumSHA256 } = await client.send(part)
    expect(await client.send(list)).toMatchObject({ ...shown, Parts: [{ PartNumber: 1 }] })
    const named = { PartNumber: 1, ETag, ChecksumSHA256 }
    const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest()
    const end = (digest: Buffer) => {
      const declared = { MultipartUpload: { Parts: [named] }, ChecksumSHA256: digest.toString('base64') }
      return client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, ...declared }))
    }
    await expect(end(sha256('x'))).rejects.toMatchObject({ name: 'BadDigest' })
    await end(sha256(sha256('x')))
    expect(await md5OfObject()).toBe(md5('x'))
  })

  test('uses the latest of two parts with one number, and only the named parts', async () => {
    const uploadId = await begin()
    await sendPart(uploadId, 1, Buffer.from('old'))
    const one = await sendPart(uploadId, 1, Buffer.from('new'))
    await sendPart(uploadId, 2, Buffer.from('not named'))
    await complete(uploadId, [one])
    expect(await md5OfObject()).toBe(md5('new'))
  })

  test('may be completed again if the answer was lost', async () => {
    const uploadId = await begin()
    const parts = [await sendPart(uploadId, 1, Buffer.from('x'))]
    const first = await complete(uploadId, parts)
    const second = await complete(uploadId, parts)
    expect(second.ETag).toBe(first.ETag)
  })
})

describe('completing is refused, and the upload stays pending, if', () => {
  test('a part is missing, has another ETag, is too small, or is out of order', async () => {
    const uploadId = await begin()
    const one = await sendPart(uploadId, 1, Buffer.from('small'))
    const two = await sendPart(uploadId, 2, Buffer.from('last'))
    await expect(complete(uploadId, [one, two])).rejects.toMatchObject({ name: 'EntityTooSmall' })
    await expect(complete(uploadId, [two, one])).rejects.toMatchObject({ name: 'InvalidPartOrder' })
    await expect(complete(uploadId, [one, one])).rejects.toMatchObject({ name: 'InvalidPartOrder' })
    await expect(complete(uploadId, [{ ...one, ETag: two.ETag }])).rejects.toMatchObject({ name: 'InvalidPart' })
    await expect(complete(uploadId, [{ ...one, PartNumber: 3 }])).rejects.toMatchObject({ name: 'InvalidPart' })
    await expect(complete(uploadId, [])).rejects.toMatchObject({ name: 'MalformedXML' })
    await complete(uploadId, [one])
  })
})

test('an aborted upload has no parts, and every further call is refused', async () => {
  const uploadId = await begin()
  const part = await sendPart(uploadId, 1, Buffer.from('x'))
  await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId: uploadId }))
  await expect(sendPart(uploadId, 2, Buffer.from('x'))).rejects.toMatchObject({ name: 'NoSuchUpload' })
  await expect(complete(uploadId, [part])).rejects.toMatchObject({ name: 'NoSuchUpload' })
  const list = new ListPartsCommand({ Bucket, Key, UploadId: uploadId })
  await expect(client.send(list)).rejects.toMatchObject({ name: 'NoSuchUpload' })
  expect(await readdir(join(endpoint.root, 'buckets', testBucket, 'uploads'))).toEqual([])
})

test.each(['', '..', '../../objects', 'a'.repeat(32), '%2e%2e%2f'])(
  'the upload ID "%s" cannot leave the directory of uploads',
  async (id) => {
    const path = `/${testBucket}/k?uploadId=${encodeURIComponent(id)}`
    expect(await send(endpoint.url, { method: 'DELETE', path })).toMatchObject({ status: 404, code: 'NoSuchUpload' })
    const put = { method: 'PUT', path: `${path}&partNumber=1`, body: 'x' }
    expect(await send(endpoint.url, put)).toMatchObject({ status: 404, code: 'NoSuchUpload' })
  },
)

test('an upload ID is not valid for another key', async () => {
  const uploadId = await begin()
  const path = `/${testBucket}/other?uploadId=${uploadId}&partNumber=1`
  expect(await send(endpoint.url, { method: 'PUT', path, body: 'x' })).toMatchObject({ code: 'NoSuchUpload' })
})

test.each(['0', '10001', '-1', 'x', ''])('part number "%s" is refused', async (number) => {
  const path = `/${testBucket}/k?uploadId=${await begin()}&partNumber=${number}`
  expect(await send(endpoint.url, { method: 'PUT', path, body: 'x' })).toMatchObject({ code: 'InvalidArgument' })
})

test('pending uploads and their parts are listed in pages', async () => {
  const ids = [await begin(), await begin()].sort()
  for (const number of [1, 2, 3]) await sendPart(ids[0] ?? '', number, Buffer.from('x'))
  const uploads = await client.send(new ListMultipartUploadsCommand({ Bucket, MaxUploads: 1 }))
  expect([uploads.Uploads?.[0]?.UploadId, uploads.Uploads?.[0]?.Key, uploads.IsTruncated]).toEqual([ids[0], Key, true])
  const markers = { KeyMarker: uploads.NextKeyMarker, UploadIdMarker: uploads.NextUploadIdMarker }
  const rest = await client.send(new ListMultipartUploadsCommand({ Bucket, ...markers }))
  expect([rest.Uploads?.map(({ UploadId }) => UploadId), rest.IsTruncated]).toEqual([[ids[1]], false])
  const parts = await client.send(new ListPartsCommand({ Bucket, Key, UploadId: ids[0], MaxParts: 2 }))
  expect([parts.Parts?.length, parts.IsTruncated, parts.NextPartNumberMarker]).toEqual([2, true, '2'])
  const last = await client.send(new ListPartsCommand({ Bucket, Key, UploadId: ids[0], PartNumberMarker: '2' }))
  expect(last.Parts?.map(({ PartNumber }) => PartNumber)).toEqual([3])
})

describe('pending uploads', () => {
  const uploadKeys = ['a', 'a/1', 'a/1', 'a/2', 'a/b/3', 'b', 'c/', 'd-1', 'ü/x']

  // The tests only read, so they share the uploads.
  let reader: S3Client
  beforeAll(async () => {
    const { until, end } = fileTeardown()
    reader = (await runEndpoint({}, until)).client()
    for (const Key of uploadKeys) await reader.send(new CreateMultipartUploadCommand({ Bucket, Key }))
    return end
  })

  const list = (input: object) => reader.send(new ListMultipartUploadsCommand({ Bucket, ...input }))
  const shown = (page: ListMultipartUploadsCommandOutput) => [
    ...(page.Uploads ?? []).map((upload) => upload.Key),
    ...(page.CommonPrefixes ?? []).map((common) => common.Prefix),
  ]

  interface Input {
    Delimiter?: string
    EncodingType?: 'url'
    KeyMarker?: string
    Prefix?: string
  }
  test.each<[Input, string[]]>([
    [{}, uploadKeys],
    [{ Delimiter: '' }, uploadKeys],
    [{ Delimiter: '/' }, ['a', 'b', 'd-1', 'a/', 'c/', 'ü/']],
    [{ Delimiter: '/', Prefix: 'a/' }, ['a/1', 'a/1', 'a/2', 'a/b/']],
    [{ Delimiter: '-' }, [...uploadKeys.filter((key) => key !== 'd-1'), 'd-']],
    [{ Delimiter: '/', Prefix: 'none' }, []],
    [{ Delimiter: '/', KeyMarker: 'a/' }, ['b', 'd-1', 'c/', 'ü/']],
    [{ Delimiter: '/', KeyMarker: 'a' }, ['b', 'd-1', 'a/', 'c/', 'ü/']],
    [{ EncodingType: 'url', Prefix: 'ü' }, ['%C3%BC/x']],
    [{ EncodingType: 'url', Delimiter: '/', Prefix: 'ü' }, ['%C3%BC/']],
  ])('are listed under %j', async (input, expected) => {
    const page = await list(input)
    expect([shown(page), page.IsTruncated]).toEqual([expected, false])
    expect([page.Delimiter, page.EncodingType]).toEqual([input.Delimiter || undefined, input.EncodingType])
  })

  test.each([undefined, '/'])('are listed completely in pages of any size (delimiter: %s)', async (Delimiter) => {
    const whole = await list({ ...(Delimiter && { Delimiter }) })
    for (const MaxUploads of [1, 2, 3]) {
      const found: unknown[] = []
      let page: ListMultipartUploadsCommandOutput | undefined
      do {
        const markers = { KeyMarker: page?.NextKeyMarker, UploadIdMarker: page?.NextUploadIdMarker }
        page = await list({ MaxUploads, ...(Delimiter && { Delimiter }), ...markers })
        expect(shown(page).length).toBeLessThanOrEqual(MaxUploads)
        found.push(...shown(page))
      } while (page.IsTruncated)
      expect(found.toSorted()).toEqual(shown(whole).toSorted())
    }
  })

  test('are not listed after a marker that is not a part number', async () => {
    const uploadId = await begin()
    for (const marker of ['x', '-1', '1.5']) {
      const path = `/${testBucket}/${encodeURIComponent(Key)}?uploadId=${uploadId}&part-number-marker=${marker}`
      expect(await send(endpoint.url, { path })).toMatchObject({ code: 'InvalidArgument' })
    }
  })
})

test('a completion beside an abort makes the object or finds no upload', async () => {
  for (let round = 0; round < 20; round++) {
    const uploadId = await begin()
    const part = await sendPart(uploadId, 1, Buffer.from('x'))
    const abort = client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId: uploadId }))
    for (const outcome of await Promise.allSettled([complete(uploadId, [part]), abort])) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ name: 'NoSuchUpload' })
    }
  }
})
