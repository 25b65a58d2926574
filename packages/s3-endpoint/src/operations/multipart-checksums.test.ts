import { createHash } from 'node:crypto'
import {
  type ChecksumAlgorithm,
  CopyObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { beforeEach, describe, expect, test } from 'vitest'
import { send } from '../testing/raw-request.ts'
import { makeDirectory, type RunningEndpoint, runEndpoint, testBucket } from '../testing/running-endpoint.ts'
import {
  algorithms,
  type ChecksumUploads,
  composite,
  digest,
  expectChecksum,
  onePart,
  openChecksumUploads,
  twoParts,
} from './multipart-checksums.fixture.ts'

const Bucket = testBucket
const Key = 'k'
const objectPath = `/${testBucket}/${Key}`

let endpoint: RunningEndpoint
let uploads: ChecksumUploads
beforeEach(async (context) => {
  endpoint = await runEndpoint({}, (end) => context.onTestFinished(end))
  uploads = openChecksumUploads(endpoint)
})

describe('the checksum of an object in parts', () => {
  // multipart-checksums.long.test.ts has the other combinations.
  test.each([
    ['CRC32', undefined, 'COMPOSITE'],
    ['SHA256', undefined, 'COMPOSITE'],
    ['CRC64NVME', undefined, 'FULL_OBJECT'],
    ['CRC32', 'FULL_OBJECT', 'FULL_OBJECT'],
  ] as const)(
    '%s is made as asked for (%s), and shown at the end, by HEAD and by GET',
    async (algorithm, asked, type) => await expectChecksum(endpoint, algorithm, asked, type),
  )

  test('is computed if the parts are sent without checksums, even after a restart', async (context) => {
    const until = (end: () => Promise<void>) => context.onTestFinished(end)
    const root = await makeDirectory(until)
    const first = await runEndpoint({ root }, until)
    const uploadId = await openChecksumUploads(first).begin({ ChecksumAlgorithm: 'SHA256' })
    await first.close()
    uploads = openChecksumUploads(await runEndpoint({ root }, until))
    const parts = await uploads.sendParts(uploadId, twoParts)
    expect(await uploads.complete(uploadId, parts)).toMatchObject({ ChecksumSHA256: composite('SHA256', twoParts) })
  })

  test('is not shown if the upload began without an algorithm', async () => {
    const uploadId = await uploads.begin()
    const parts = await uploads.sendParts(uploadId, onePart)
    await uploads.complete(uploadId, parts)
    expect((await uploads.head()).ChecksumType).toBeUndefined()
  })

  test('is listed with the upload and its parts', async () => {
    const uploadId = await uploads.begin({ ChecksumAlgorithm: 'CRC32C' })
    const parts = [onePart[0], Buffer.from('another')] as const
    await uploads.sendParts(uploadId, parts)
    const plan = { ChecksumAlgorithm: 'CRC32C', ChecksumType: 'COMPOSITE' }
    expect(await uploads.client.send(new ListMultipartUploadsCommand({ Bucket }))).toMatchObject({ Uploads: [plan] })
    expect(await uploads.client.send(new ListPartsCommand({ Bucket, Key, UploadId: uploadId }))).toMatchObject({
      ...plan,
      Parts: parts.map((part) => ({ ChecksumCRC32C: digest('CRC32C', part) })),
    })
  })
})

describe('beginning an upload is refused with', () => {
  test.each<[string, Record<string, string>, number, string]>([
    ['an algorithm that is not implemented', { 'x-amz-checksum-algorithm': 'SHA512' }, 501, 'NotImplemented'],
    ['an algorithm that does not exist', { 'x-amz-checksum-algorithm': 'CRC' }, 501, 'NotImplemented'],
    ['a type without an algorithm', { 'x-amz-checksum-type': 'COMPOSITE' }, 400, 'InvalidRequest'],
    [
      'a type that does not exist',
      { 'x-amz-checksum-algorithm': 'CRC32', 'x-amz-checksum-type': 'PART' },
      400,
      'InvalidRequest',
    ],
    [
      'a full-object type for a hash',
      { 'x-amz-checksum-algorithm': 'SHA256', 'x-amz-checksum-type': 'FULL_OBJECT' },
      400,
      'InvalidRequest',
    ],
    [
      'a composite type for CRC-64',
      { 'x-amz-checksum-algorithm': 'CRC64NVME', 'x-amz-checksum-type': 'COMPOSITE' },
      400,
      'InvalidRequest',
    ],
  ])('%s', async (_name, headers, status, code) => {
    const answer = await send(endpoint.url, { method: 'POST', path: `${objectPath}?uploads`, headers })
    expect(answer).toMatchObject({ status, code })
  })
})

test('a checksum is refused in operations without a body', async () => {
  const headers = { 'x-amz-checksum-crc32': 'AAAAAA==' }
  const begin = { method: 'POST', path: `${objectPath}?uploads`, headers }
  expect(await send(endpoint.url, begin)).toMatchObject({ status: 501, code: 'NotImplemented' })
  const copy = { method: 'PUT', path: objectPath, headers: { ...headers, 'x-amz-copy-source': objectPath } }
  expect(await send(endpoint.url, copy)).toMatchObject({ status: 501, code: 'NotImplemented' })
})

describe('a part is refused', () => {
  test('if its checksum has another algorithm than the upload', async () => {
    const uploadId = await uploads.begin({ ChecksumAlgorithm: 'SHA256' })
    for (const name of ['CRC32', 'SHA1'] as const) {
      await expect(uploads.sendParts(uploadId, onePart, name)).rejects.toMatchObject({ name: 'InvalidRequest' })
    }
    const trailing = endpoint.client()
    const part = { Bucket, Key, UploadId: uploadId, PartNumber: 1, Body: onePart[0] }
    await expect(trailing.send(new UploadPartCommand(part))).rejects.toMatchObject({ name: 'InvalidRequest' })
    expect((await uploads.client.send(new ListPartsCommand({ Bucket, Key, UploadId: uploadId }))).Parts).toBeUndefined()
  })

  test('if it announces an algorithm but has no such checksum', async () => {
    const uploadId = await uploads.begin()
    const request = { method: 'PUT', path: `${objectPath}?uploadId=${uploadId}&partNumber=1`, body: 'x' }
    const announced = { 'x-amz-sdk-checksum-algorithm': 'CRC32' }
    expect(await send(endpoint.url, { ...request, headers: announced })).toMatchObject({ code: 'InvalidRequest' })
    const another = { ...announced, 'x-amz-checksum-sha1': createHash('sha1').update('x').digest('base64') }
    expect(await send(endpoint.url, { ...request, headers: another })).toMatchObject({ code: 'BadDigest' })
  })
})

describe('completing an upload', () => {
  const wrong = digest('CRC32', Buffer.from('wrong'))

  test.each<[string, object]>([
    ['the composite value with the number of parts', { ChecksumCRC32: composite('CRC32', onePart) }],
    ['the composite value alone', { ChecksumCRC32: composite('CRC32', onePart).replace(/-1$/, '') }],
    ['the type as well', { ChecksumCRC32: composite('CRC32', onePart), ChecksumType: 'COMPOSITE' }],
  ])('accepts %s', async (_name, claims) => {
    const uploadId = await uploads.begin({ ChecksumAlgorithm: 'CRC32' })
    const parts = await uploads.sendParts(uploadId, onePart, 'CRC32')
    expect(await uploads.complete(uploadId, parts, claims)).toMatchObject({
      ChecksumCRC32: composite('CRC32', onePart),
    })
  })

  test.each<[string, object, string]>([
    ['another composite value', { ChecksumCRC32: `${wrong}-1` }, 'BadDigest'],
    ['another number of parts', { ChecksumCRC32: composite('CRC32', onePart).replace(/-1$/, '-2') }, 'BadDigest'],
    ["the whole object's value", { ChecksumCRC32: digest('CRC32', ...onePart) }, 'BadDigest'],
    ['another type', { ChecksumCRC32: digest('CRC32', ...onePart), ChecksumType: 'FULL_OBJECT' }, 'BadDigest'],
    ['another type alone', { ChecksumType: 'FULL_OBJECT' }, 'BadDigest'],
    ['a type that does not exist', { ChecksumType: 'PART' }, 'InvalidRequest'],
    ['another algorithm', { ChecksumCRC32C: composite('CRC32C', onePart) }, 'BadDigest'],
    ['a value that is not a checksum', { ChecksumCRC32: 'x' }, 'InvalidRequest'],
    ['two values', { ChecksumCRC32: wrong, ChecksumCRC32C: wrong }, 'InvalidRequest'],
    ['another size', { MpuObjectSize: 1 }, 'InvalidRequest'],
  ])('refuses %s, and the upload goes on', async (_name, claims, name) => {
    const uploadId = await uploads.begin({ ChecksumAlgorithm: 'CRC32' })
    const parts = await uploads.sendParts(uploadId, onePart, 'CRC32')
    await expect(uploads.complete(uploadId, parts, claims)).rejects.toMatchObject({ name })
    await expect(uploads.head()).rejects.toMatchObject({ name: 'NotFound' })
    await uploads.complete(uploadId, parts, { MpuObjectSize: onePart[0].length })
  })

  test('verifies a checksum of the object that was not announced at the beginning', async () => {
    const uploadId = await uploads.begin()
    const parts = await uploads.sendParts(uploadId, onePart, 'SHA1')
    const claim = (ChecksumSHA1: string) => uploads.complete(uploadId, parts, { ChecksumSHA1 })
    await expect(claim(`${digest('SHA1')}-1`)).rejects.toMatchObject({ name: 'BadDigest' })
    await expect(claim(digest('SHA1', ...onePart))).rejects.toMatchObject({ name: 'BadDigest' })
    const ChecksumSHA256 = composite('SHA256', onePart)
    await expect(uploads.complete(uploadId, parts, { ChecksumSHA256 })).rejects.toMatchObject({
      name: 'InvalidRequest',
    })
    await claim(composite('SHA1', onePart))
    expect(await uploads.head()).toMatchObject({ ChecksumSHA1: composite('SHA1', onePart), ChecksumType: 'COMPOSITE' })
  })

  test("refuses a part's checksum that the part does not have", async () => {
    for (const algorithm of [undefined, 'CRC32'] as const) {
      const uploadId = await uploads.begin(algorithm && { ChecksumAlgorithm: algorithm })
      const [part] = await uploads.sendParts(uploadId, onePart, 'CRC32')
      const named = (checksums: object) => uploads.complete(uploadId, [{ ...part, ...checksums }])
      await expect(named({ ChecksumCRC32: wrong })).rejects.toMatchObject({ name: 'InvalidPart' })
      const ChecksumSHA1 = digest('SHA1', onePart[0])
      await expect(named({ ChecksumSHA1 })).rejects.toMatchObject({ name: 'InvalidPart' })
      await named({ ChecksumCRC32: digest('CRC32', onePart[0]) })
    }
  })

  test('refuses unknown elements of a part', async () => {
    const uploadId = await uploads.begin()
    const [first] = await uploads.sendParts(uploadId, onePart)
    const part = `<PartNumber>1</PartNumber><ETag>${first?.ETag}</ETag><ChecksumSHA512>x</ChecksumSHA512>`
    const body = `<CompleteMultipartUpload><Part>${part}</Part></CompleteMultipartUpload>`
    const request = { method: 'POST', path: `${objectPath}?uploadId=${uploadId}`, body }
    expect(await send(endpoint.url, request)).toMatchObject({ status: 501, code: 'NotImplemented' })
  })
})

describe('a copy', () => {
  const CopySource = `${testBucket}/${Key}`
  const objectBody = Buffer.from('0123456789')

  test('has the requested checksum', async () => {
    await uploads.client.send(new PutObjectCommand({ Bucket, Key, Body: objectBody, ChecksumAlgorithm: 'CRC32' }))
    for (const ChecksumAlgorithm of algorithms) {
      const copy = new CopyObjectCommand({ Bucket, Key: 'copy', CopySource, ChecksumAlgorithm })
      const shown = {
        [`Checksum${ChecksumAlgorithm}`]: digest(ChecksumAlgorithm, objectBody),
        ChecksumType: 'FULL_OBJECT',
      }
      expect((await uploads.client.send(copy)).CopyObjectResult).toMatchObject(shown)
      const head = new HeadObjectCommand({ Bucket, Key: 'copy', ChecksumMode: 'ENABLED' })
      expect(await uploads.client.send(head)).toMatchObject(shown)
    }
  })

  test('has the checksum of its source if no checksum is requested', async () => {
    const uploadId = await uploads.begin({ ChecksumAlgorithm: 'CRC32' })
    const parts = await uploads.sendParts(uploadId, onePart)
    await uploads.complete(uploadId, parts)
    const shown = { ChecksumCRC32: composite('CRC32', onePart), ChecksumType: 'COMPOSITE' }
    const copied = await uploads.client.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource }))
    expect(copied.CopyObjectResult).toMatchObject(shown)
    const head = new HeadObjectCommand({ Bucket, Key: 'copy', ChecksumMode: 'ENABLED' })
    expect(await uploads.client.send(head)).toMatchObject(shown)
  })

  test('is refused with an algorithm that is not implemented', async () => {
    await uploads.client.send(new PutObjectCommand({ Bucket, Key, Body: objectBody }))
    const ChecksumAlgorithm: ChecksumAlgorithm = 'SHA512'
    const copy = new CopyObjectCommand({ Bucket, Key: 'copy', CopySource, ChecksumAlgorithm })
    await expect(uploads.client.send(copy)).rejects.toMatchObject({ name: 'NotImplemented' })
  })
})
