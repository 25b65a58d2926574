import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { describe, expect, test } from 'vitest'
import { eachWithOwner } from './test-gateway.ts'

// The S3 gateway verifies the checksums that senders declare for multipart uploads, or refuses checksums it cannot
// verify.
const { gateway, owner } = eachWithOwner()

const file = 'user_id,name\nalice,Alice\n'
const target = () => ({ Bucket: gateway.bucket, Key: `${owner.path}a.csv` })
const crc32Of = (data: Uint8Array | string) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(data))
  return bytes
}
const ofPart = crc32Of(file).toString('base64')
const hashOfFile = createHash('sha256').update(file).digest('base64')
const ofParts = crc32Of(crc32Of(file)).toString('base64')

/** Uploads a file as one part with the SDK's default settings. Returns the request that completes the upload. */
async function sendPart(
  begun: Pick<CreateMultipartUploadCommandInput, 'ChecksumAlgorithm'> = { ChecksumAlgorithm: 'CRC32' },
) {
  const client = gateway.clientOf(owner)
  const begin = new CreateMultipartUploadCommand({ ...target(), ...begun })
  const { UploadId } = await client.send(begin)
  const part = { ...target(), UploadId, PartNumber: 1, Body: file }
  const { ETag, ChecksumCRC32 } = await client.send(new UploadPartCommand(part))
  expect(ChecksumCRC32).toBe(ofPart)
  return (claims: object, named: object = { ChecksumCRC32 }) => {
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag, ...named }] }
    return client.send(new CompleteMultipartUploadCommand({ ...target(), UploadId, MultipartUpload, ...claims }))
  }
}

describe('completing an upload', () => {
  test.each<[string, object]>([
    ['nothing', {}],
    ['its size', { MpuObjectSize: file.length }],
    ['the checksum of its parts', { ChecksumCRC32: ofParts }],
    [
      'the checksum of its parts with their number and its type',
      { ChecksumCRC32: `${ofParts}-1`, ChecksumType: 'COMPOSITE' },
    ],
  ])('that declares %s creates the import', async (_, claims) => {
    const complete = await sendPart()
    await complete(claims)
    expect(await gateway.importsOf(owner)).toHaveLength(1)
    const head = new HeadObjectCommand({ ...target(), ChecksumMode: 'ENABLED' })
    expect((await gateway.clientOf(owner).send(head)).ContentLength).toBe(file.length)
  })

  test.each<[string, object, object | undefined, string]>([
    ['another size', { MpuObjectSize: 1 }, undefined, 'InvalidRequest'],
    ['another checksum of its parts', { ChecksumCRC32: `${ofPart}-1` }, undefined, 'BadDigest'],
    ['another number of parts', { ChecksumCRC32: `${ofParts}-2` }, undefined, 'BadDigest'],
    ['a checksum of parts that have none', { ChecksumCRC32: `${ofParts}-1` }, {}, 'NotImplemented'],
    ['a checksum of another type', { ChecksumCRC32: ofPart, ChecksumType: 'FULL_OBJECT' }, undefined, 'BadDigest'],
    ['a checksum by another algorithm', { ChecksumSHA256: hashOfFile }, undefined, 'BadDigest'],
  ])('that declares %s is refused, and succeeds without it', async (_, claims, named, name) => {
    const complete = await sendPart()
    await expect(complete(claims, named)).rejects.toMatchObject({ name })
    expect(await gateway.importsOf(owner)).toEqual([])
    await complete({})
    expect(await gateway.importsOf(owner)).toHaveLength(1)
  })
})

test.each([
  ['checksum', { ChecksumCRC32: ofPart, ChecksumType: 'FULL_OBJECT' as const }],
  ['hash', { ChecksumSHA256: hashOfFile }],
])('completing an upload that names no algorithm with a %s of its bytes is not implemented', async (_, claims) => {
  const complete = await sendPart({})
  await expect(complete(claims)).rejects.toMatchObject({ name: 'NotImplemented' })
  await complete({})
  expect(await gateway.importsOf(owner)).toHaveLength(1)
})

describe('the algorithm that an upload begins with', () => {
  test('is required of its parts: a part with another algorithm is refused, and the upload continues', async () => {
    const client = gateway.clientOf(owner)
    const { UploadId } = await client.send(
      new CreateMultipartUploadCommand({ ...target(), ChecksumAlgorithm: 'CRC32' }),
    )
    const part = { ...target(), UploadId, PartNumber: 1, Body: file }
    const other = new UploadPartCommand({ ...part, ChecksumAlgorithm: 'SHA256' })
    await expect(client.send(other)).rejects.toMatchObject({ name: 'InvalidRequest' })
    const { ETag } = await client.send(new UploadPartCommand(part))
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
    await client.send(new CompleteMultipartUploadCommand({ ...target(), UploadId, MultipartUpload }))
    expect(await gateway.importsOf(owner)).toHaveLength(1)
  })

  test('is shown with the upload, and is checked when the upload is completed', async () => {
    const client = gateway.clientOf(owner)
    const begin = new CreateMultipartUploadCommand({ ...target(), ChecksumAlgorithm: 'CRC32C' })
    const { UploadId } = await client.send(begin)
    const shown = { ChecksumAlgorithm: 'CRC32C', ChecksumType: 'COMPOSITE' }
    expect(await client.send(new ListPartsCommand({ ...target(), UploadId }))).toMatchObject(shown)
    const { Uploads } = await client.send(
      new ListMultipartUploadsCommand({ Bucket: gateway.bucket, Prefix: owner.path }),
    )
    expect(Uploads).toMatchObject([{ UploadId, ...shown }])
    const part = { ...target(), UploadId, PartNumber: 1, Body: file, ChecksumAlgorithm: 'CRC32C' as const }
    const { ETag } = await client.send(new UploadPartCommand(part))
    const end = { ...target(), UploadId, MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] } }
    const asAnother = new CompleteMultipartUploadCommand({ ...end, ChecksumCRC32: ofParts })
    await expect(client.send(asAnother)).rejects.toMatchObject({ name: 'BadDigest' })
    await client.send(new CompleteMultipartUploadCommand(end))
    expect(await gateway.importsOf(owner)).toHaveLength(1)
  })
})
