import { createHash, randomBytes } from 'node:crypto'
import {
  type ChecksumAlgorithm,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { beforeEach, describe, expect, test } from 'vitest'
import { createChecksum } from '../body/checksums.ts'
import { send } from '../testing/raw-request.ts'
import { makeDirectory, type RunningEndpoint, runEndpoint, testBucket } from '../testing/running-endpoint.ts'

const Bucket = testBucket
const Key = 'k'
const objectPath = `/${testBucket}/${Key}`
const partBodies = [randomBytes(5 * 1024 * 1024), randomBytes(10)] as const
const algorithms = ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const
type Algorithm = (typeof algorithms)[number]

let endpoint: RunningEndpoint
let client: S3Client
beforeEach(async (context) => {
  endpoint = await runEndpoint({}, (end) => context.onTestFinished(end))
  // Otherwise the SDK adds a checksum to each request without one.
  client = endpoint.client({ requestChecksumCalculation: 'WHEN_REQUIRED' })
})

function digest(algorithm: Algorithm, ...chunks: Uint8Array[]): string {
  const hasher = createChecksum(algorithm.toLowerCase() as Lowercase<Algorithm>)
  for (const chunk of chunks) hasher.update(chunk)
  return hasher.digest().toString('base64')
}

function composite(algorithm: Algorithm): string {
  return digest(algorithm, ...partBodies.map((part) => Buffer.from(digest(algorithm, part), 'base64')))
}

async function begin(input: Partial<CreateMultipartUploadCommandInput> = {}): Promise<string> {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ...input }))
  return UploadId ?? ''
}

async function sendParts(UploadId: string, ChecksumAlgorithm?: Algorithm) {
  const sent = partBodies.map((Body, index) => {
    const PartNumber = index + 1
    const part = { Bucket, Key, UploadId, PartNumber, Body, ...(ChecksumAlgorithm && { ChecksumAlgorithm }) }
    return client.send(new UploadPartCommand(part)).then(({ ETag }) => ({ PartNumber, ETag }))
  })
  return await Promise.all(sent)
}

function complete(UploadId: string, Parts: object[], options: object = {}) {
  return client.send(
    new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts }, ...options }),
  )
}

async function head() {
  return await client.send(new HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }))
}

describe('the checksum of an object in parts', () => {
  test.each([
    ...(['CRC32', 'CRC32C', 'SHA1', 'SHA256'] as const).map((name) => [name, undefined, 'COMPOSITE'] as const),
    ['CRC64NVME', undefined, 'FULL_OBJECT'] as const,
    ['CRC32', 'COMPOSITE', 'COMPOSITE'] as const,
    ...(['CRC32', 'CRC32C', 'CRC64NVME'] as const).map((name) => [name, 'FULL_OBJECT', 'FULL_OBJECT'] as const),
  ])('%s is made as asked for (%s), and shown at the end, by HEAD and by GET', async (algorithm, asked, type) => {
    const begun = await client.send(
      new CreateMultipartUploadCommand({
        Bucket,
        Key,
        ChecksumAlgorithm: algorithm,
        ...(asked && { ChecksumType: asked }),
      }),
    )
    expect([begun.ChecksumAlgorithm, begun.ChecksumType]).toEqual([algorithm, type])
    const parts = await sendParts(begun.UploadId ?? '', algorithm)
    const value = type === 'COMPOSITE' ? `${composite(algorithm)}-2` : digest(algorithm, ...partBodies)
    const shown = { [`Checksum${algorithm}`]: value, ChecksumType: type }
    expect(await complete(begun.UploadId ?? '', parts)).toMatchObject(shown)
    expect(await head()).toMatchObject(shown)
    const get = await endpoint.client().send(new GetObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }))
    expect(get).toMatchObject(shown)
    expect((await get.Body?.transformToByteArray())?.length).toBe(partBodies[0].length + partBodies[1].length)
  })

  test('is computed if the parts are sent without checksums, even after a restart', async (context) => {
    const until = (end: () => Promise<void>) => context.onTestFinished(end)
    const root = await makeDirectory(until)
    const first = await runEndpoint({ root }, until)
    client = first.client({ requestChecksumCalculation: 'WHEN_REQUIRED' })
    const uploadId = await begin({ ChecksumAlgorithm: 'SHA256' })
    await first.close()
    const second = await runEndpoint({ root }, until)
    client = second.client({ requestChecksumCalculation: 'WHEN_REQUIRED' })
    const parts = await sendParts(uploadId)
    expect(await complete(uploadId, parts)).toMatchObject({ ChecksumSHA256: `${composite('SHA256')}-2` })
  })

  test('is not shown if the upload began without an algorithm', async () => {
    const uploadId = await begin()
    const parts = await sendParts(uploadId)
    await complete(uploadId, parts)
    expect((await head()).ChecksumType).toBeUndefined()
  })

  test('is listed with the upload and its parts', async () => {
    const uploadId = await begin({ ChecksumAlgorithm: 'CRC32C' })
    await sendParts(uploadId)
    const plan = { ChecksumAlgorithm: 'CRC32C', ChecksumType: 'COMPOSITE' }
    expect(await client.send(new ListMultipartUploadsCommand({ Bucket }))).toMatchObject({ Uploads: [plan] })
    expect(await client.send(new ListPartsCommand({ Bucket, Key, UploadId: uploadId }))).toMatchObject({
      ...plan,
      Parts: partBodies.map((part) => ({ ChecksumCRC32C: digest('CRC32C', part) })),
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
    const uploadId = await begin({ ChecksumAlgorithm: 'SHA256' })
    for (const name of ['CRC32', 'SHA1'] as const) {
      await expect(sendParts(uploadId, name)).rejects.toMatchObject({ name: 'InvalidRequest' })
    }
    const trailing = endpoint.client()
    const part = { Bucket, Key, UploadId: uploadId, PartNumber: 1, Body: partBodies[1] }
    await expect(trailing.send(new UploadPartCommand(part))).rejects.toMatchObject({ name: 'InvalidRequest' })
    expect((await client.send(new ListPartsCommand({ Bucket, Key, UploadId: uploadId }))).Parts).toBeUndefined()
  })

  test('if it announces an algorithm but has no such checksum', async () => {
    const uploadId = await begin()
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
    ['the composite value with the number of parts', { ChecksumCRC32: `${composite('CRC32')}-2` }],
    ['the composite value alone', { ChecksumCRC32: composite('CRC32') }],
    ['the type as well', { ChecksumCRC32: `${composite('CRC32')}-2`, ChecksumType: 'COMPOSITE' }],
  ])('accepts %s', async (_name, claims) => {
    const uploadId = await begin({ ChecksumAlgorithm: 'CRC32' })
    const parts = await sendParts(uploadId, 'CRC32')
    expect(await complete(uploadId, parts, claims)).toMatchObject({ ChecksumCRC32: `${composite('CRC32')}-2` })
  })

  test.each<[string, object, string]>([
    ['another composite value', { ChecksumCRC32: `${wrong}-2` }, 'BadDigest'],
    ['another number of parts', { ChecksumCRC32: `${composite('CRC32')}-3` }, 'BadDigest'],
    ["the whole object's value", { ChecksumCRC32: digest('CRC32', ...partBodies) }, 'BadDigest'],
    ['another type', { ChecksumCRC32: digest('CRC32', ...partBodies), ChecksumType: 'FULL_OBJECT' }, 'BadDigest'],
    ['another type alone', { ChecksumType: 'FULL_OBJECT' }, 'BadDigest'],
    ['a type that does not exist', { ChecksumType: 'PART' }, 'InvalidRequest'],
    ['another algorithm', { ChecksumCRC32C: `${composite('CRC32C')}-2` }, 'BadDigest'],
    ['a value that is not a checksum', { ChecksumCRC32: 'x' }, 'InvalidRequest'],
    ['two values', { ChecksumCRC32: wrong, ChecksumCRC32C: wrong }, 'InvalidRequest'],
    ['another size', { MpuObjectSize: 1 }, 'InvalidRequest'],
  ])('refuses %s, and the upload goes on', async (_name, claims, name) => {
    const uploadId = await begin({ ChecksumAlgorithm: 'CRC32' })
    const parts = await sendParts(uploadId, 'CRC32')
    await expect(complete(uploadId, parts, claims)).rejects.toMatchObject({ name })
    await expect(head()).rejects.toMatchObject({ name: 'NotFound' })
    await complete(uploadId, parts, { MpuObjectSize: partBodies[0].length + partBodies[1].length })
  })

  test('verifies a checksum of the object that was not announced at the beginning', async () => {
    const uploadId = await begin()
    const parts = await sendParts(uploadId, 'SHA1')
    const claim = (ChecksumSHA1: string) => complete(uploadId, parts, { ChecksumSHA1 })
    await expect(claim(`${digest('SHA1')}-2`)).rejects.toMatchObject({ name: 'BadDigest' })
    await expect(claim(digest('SHA1', ...partBodies))).rejects.toMatchObject({ name: 'BadDigest' })
    const ChecksumSHA256 = `${composite('SHA256')}-2`
    await expect(complete(uploadId, parts, { ChecksumSHA256 })).rejects.toMatchObject({ name: 'InvalidRequest' })
    await claim(`${composite('SHA1')}-2`)
    expect(await head()).toMatchObject({ ChecksumSHA1: `${composite('SHA1')}-2`, ChecksumType: 'COMPOSITE' })
  })

  test("refuses a part's checksum that the part does not have", async () => {
    for (const algorithm of [undefined, 'CRC32'] as const) {
      const uploadId = await begin(algorithm && { ChecksumAlgorithm: algorithm })
      const [first, second] = await sendParts(uploadId, 'CRC32')
      const named = (checksums: object) => complete(uploadId, [{ ...first, ...checksums }, second ?? {}])
      await expect(named({ ChecksumCRC32: wrong })).rejects.toMatchObject({ name: 'InvalidPart' })
      const ChecksumSHA1 = digest('SHA1', partBodies[0])
      await expect(named({ ChecksumSHA1 })).rejects.toMatchObject({ name: 'InvalidPart' })
      await named({ ChecksumCRC32: digest('CRC32', partBodies[0]) })
    }
  })

  test('refuses unknown elements of a part', async () => {
    const uploadId = await begin()
    const [first] = await sendParts(uploadId)
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
    await client.send(new PutObjectCommand({ Bucket, Key, Body: objectBody, ChecksumAlgorithm: 'CRC32' }))
    for (const ChecksumAlgorithm of algorithms) {
      const copy = new CopyObjectCommand({ Bucket, Key: 'copy', CopySource, ChecksumAlgorithm })
      const shown = {
        [`Checksum${ChecksumAlgorithm}`]: digest(ChecksumAlgorithm, objectBody),
        ChecksumType: 'FULL_OBJECT',
      }
      expect((await client.send(copy)).CopyObjectResult).toMatchObject(shown)
      const head = new HeadObjectCommand({ Bucket, Key: 'copy', ChecksumMode: 'ENABLED' })
      expect(await client.send(head)).toMatchObject(shown)
    }
  })

  test('has the checksum of its source if no checksum is requested', async () => {
    const uploadId = await begin({ ChecksumAlgorithm: 'CRC32' })
    const parts = await sendParts(uploadId)
    await complete(uploadId, parts)
    const shown = { ChecksumCRC32: `${composite('CRC32')}-2`, ChecksumType: 'COMPOSITE' }
    const copied = await client.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource }))
    expect(copied.CopyObjectResult).toMatchObject(shown)
    const head = new HeadObjectCommand({ Bucket, Key: 'copy', ChecksumMode: 'ENABLED' })
    expect(await client.send(head)).toMatchObject(shown)
  })

  test('is refused with an algorithm that is not implemented', async () => {
    await client.send(new PutObjectCommand({ Bucket, Key, Body: objectBody }))
    const ChecksumAlgorithm: ChecksumAlgorithm = 'SHA512'
    const copy = new CopyObjectCommand({ Bucket, Key: 'copy', CopySource, ChecksumAlgorithm })
    await expect(client.send(copy)).rejects.toMatchObject({ name: 'NotImplemented' })
  })
})
