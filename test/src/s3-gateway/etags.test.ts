import { createHash } from 'node:crypto'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { Storage } from '@sluice/storage'
import { beforeEach, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { type Owner, openTestGateway } from './test-gateway.ts'

// Storage whose ETags are no MD5s, as S3's are with SSE-KMS. Clients such as s3cmd and rclone compare ETags with the
// MD5 of what they sent, and send it again, or fail, if the two differ.
const gateway = openBeforeEach(() => openTestGateway({}, undefined, withOtherEtags))
let owner: Owner
beforeEach(async () => {
  owner = await gateway.openOwner()
})

/** Replaces each ETag by another one of the same form. The same function leads back. */
const other = (etag: string) =>
  etag.replace(/[0-9a-f]{32}/, (hex) =>
    [...hex].map((digit) => (15 - Number.parseInt(digit, 16)).toString(16)).join(''),
  )

function withOtherEtags(storage: Storage): Storage {
  const shown = <Item extends { etag: string }>(item: Item): Item => ({ ...item, etag: other(item.etag) })
  return {
    ...storage,
    putPart: async (...call) => other(await storage.putPart(...call)),
    async stat(key) {
      const object = await storage.stat(key)
      return object && shown(object)
    },
    listParts: async (...call) => (await storage.listParts(...call)).map(shown),
    async pageOfParts(...call) {
      const { parts, isTruncated } = await storage.pageOfParts(...call)
      return { parts: parts.map(shown), isTruncated }
    },
    completeParts: (key, uploadId, parts) => storage.completeParts(key, uploadId, parts.map(shown)),
    async *list(prefix) {
      for await (const page of storage.list(prefix)) yield page.map(shown)
    },
  }
}

const md5Of = (data: string | Buffer) => createHash('md5').update(data).digest('hex')
const csv = 'user_id,age\nu1,34\n'
const target = () => ({ Bucket: gateway.bucket, Key: `${owner.path}a.csv` })

test('an uploaded file has its MD5 as its ETag: in the answer, in HEAD and in listings', async () => {
  const client = gateway.clientOf(owner)
  const etag = `"${md5Of(csv)}"`
  expect((await client.send(new PutObjectCommand({ ...target(), Body: csv }))).ETag).toBe(etag)
  expect((await client.send(new HeadObjectCommand(target()))).ETag).toBe(etag)
  const listing = await client.send(new ListObjectsV2Command({ Bucket: gateway.bucket, Prefix: owner.path }))
  expect(listing.Contents?.map(({ ETag }) => ETag)).toEqual([etag])
})

test('a part has its MD5 as its ETag, also when it is sent again, and the upload is completed by these ETags', async () => {
  const client = gateway.clientOf(owner)
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target()))
  const parts = [Buffer.alloc(5 * 2 ** 20, 'user_id\n'), Buffer.from('u1\n')]
  const put = async (Body: Buffer, index: number) =>
    (await client.send(new UploadPartCommand({ ...target(), UploadId, PartNumber: index + 1, Body }))).ETag
  await put(Buffer.from('u2\n'), 1)
  const etags = [await put(parts[0] ?? Buffer.of(), 0), await put(parts[1] ?? Buffer.of(), 1)]
  expect(etags).toEqual(parts.map((part) => `"${md5Of(part)}"`))
  const listed = await client.send(new ListPartsCommand({ ...target(), UploadId }))
  expect(listed.Parts?.map(({ ETag }) => ETag)).toEqual(etags)
  const complete = (Parts: { PartNumber: number; ETag: string | undefined }[]) =>
    client.send(new CompleteMultipartUploadCommand({ ...target(), UploadId, MultipartUpload: { Parts } }))
  const named = etags.map((ETag, index) => ({ PartNumber: index + 1, ETag }))
  const wrong = named.map((part) => ({ ...part, ETag: `"${md5Of('another part')}"` }))
  await expect(complete(wrong)).rejects.toThrow(expect.objectContaining({ name: 'InvalidPart' }))
  await complete(named)
  expect(await gateway.importsOf(owner)).toMatchObject([{ state: 'queued', source: 'bucket' }])
})
