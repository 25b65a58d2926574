import { gzipSync } from 'node:zlib'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { removeAbandonedUploads } from '@sluice/bucket-uploads'
import { sql } from '@sluice/database'
import { beforeEach, describe, expect, test } from 'vitest'
import { clearPaths, importedNames, importRows, listedNames, putPast, smallFile } from './bucket-files.ts'
import { eachWithOwner } from './test-gateway.ts'

// Files in the bucket become imports: each file once, in the order in which the uploads were completed.
const { gateway, owner } = eachWithOwner()
beforeEach(() => clearPaths(gateway))

const target = (name: string) => ({ Bucket: gateway.bucket, Key: `${owner.path}${name}` })
const put = (name: string, Body: string | Buffer = smallFile) => {
  return gateway.clientOf(owner).send(new PutObjectCommand({ ...target(name), Body }))
}
const imports = () => importRows(gateway, owner)
const names = () => importedNames(gateway, owner)
const listing = () => listedNames(gateway, owner)
/** Begins an upload in parts, and sends its only part. `complete` ends it. */
async function beginWithPart(name: string) {
  const client = gateway.clientOf(owner)
  const { UploadId = '' } = await client.send(new CreateMultipartUploadCommand(target(name)))
  const upload = { ...target(name), UploadId }
  const { ETag = '' } = await client.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: smallFile }))
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
  const complete = () => client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload }))
  return { uploadId: UploadId, etag: ETag, complete }
}
const rowOf = (uploadId: string) =>
  gateway.db.selectFrom('bucket_uploads').selectAll().where('import_id', '=', uploadId).executeTakeFirstOrThrow()
const objectKeyOf = (uploadId: string) => `apps/${owner.appId}/imports/${uploadId}/upload`
async function contentOf(objectKey: string): Promise<string> {
  return Buffer.concat(await (await gateway.maintenance.storage.read(objectKey)).toArray()).toString()
}

// service.md, Endpoints 4.
describe('an uploaded file', () => {
  test('is an import with the name of its access key as soon as the gateway answers', async () => {
    await put('people.csv')
    expect(await imports()).toMatchObject([
      {
        source: 'bucket',
        state: 'queued',
        file_name: 'people.csv',
        content_type: 'text/csv',
        byte_size: smallFile.length,
        requested_by: `access key ${owner.accessKeyId}`,
      },
    ])
    expect(await gateway.importsOf(owner)).toMatchObject([{ source: 'bucket', state: 'queued' }])
    expect(await contentOf((await imports())[0]?.object_key ?? '')).toBe(smallFile)
  })

  test.each<[string, Buffer | string, string]>([
    ['people.csv', smallFile, 'text/csv'],
    ['people', smallFile, 'text/csv'],
    ['people.csv.gz', gzipSync(smallFile), 'application/gzip'],
    ['PEOPLE.GZ', gzipSync(smallFile), 'application/gzip'],
    ['people', gzipSync(smallFile), 'application/gzip'],
    ['people.csv', gzipSync(smallFile), 'application/gzip'],
    ['people.csv.gz', smallFile, 'application/gzip'],
    ['empty.csv', '', 'text/csv'],
    ['one-byte', '\x1f', 'text/csv'],
  ])('%s: the content type depends on the extension or the first bytes', async (name, content, contentType) => {
    // Sent without the SDK, which treats an empty body as a body of unknown length.
    const path = `/${gateway.bucket}/${owner.path}${name}`
    expect(await gateway.send(owner, { method: 'PUT', path, body: content })).toMatchObject({ status: 200 })
    expect(await imports()).toMatchObject([{ content_type: contentType, byte_size: content.length }])
  })

  test('is a separate import if its name was used before, and the path shows the later file', async () => {
    await put('people.csv', 'user_id\nfirst\n')
    await put('people.csv', 'user_id\nsecond one\n')
    const both = await imports()
    expect(await Promise.all(both.map((row) => contentOf(row.object_key)))).toEqual([
      'user_id\nfirst\n',
      'user_id\nsecond one\n',
    ])
    const head = await gateway.clientOf(owner).send(new HeadObjectCommand(target('people.csv')))
    expect(head).toMatchObject({ ContentLength: 19, ETag: both[1]?.etag })
    expect(await listing()).toEqual(['people.csv'])
  })

  // design.md §3, Request order.
  test('gets its sequence number when its upload is complete, however early the upload began', async () => {
    const { uploadId, etag, complete } = await beginWithPart('first-begun.csv')
    await put('second.csv')
    const list = new ListPartsCommand({ ...target('first-begun.csv'), UploadId: uploadId })
    const { Parts } = await gateway.clientOf(owner).send(list)
    expect(Parts).toMatchObject([{ PartNumber: 1, Size: smallFile.length, ETag: etag }])
    await complete()
    await put('third.csv')
    expect(await names()).toEqual(['second.csv', 'first-begun.csv', 'third.csv'])
    expect((await imports())[1]?.requested_by).toBe(`access key ${owner.accessKeyId}`)
  })

  test('keeps the metadata that its sender declared', async () => {
    const client = gateway.clientOf(owner)
    const Metadata = { mtime: '1795291541.5' }
    await client.send(new PutObjectCommand({ ...target('a.csv'), Body: smallFile, ContentType: 'text/csv', Metadata }))
    const head = await client.send(new HeadObjectCommand(target('a.csv')))
    expect(head).toMatchObject({ ContentType: 'text/csv', Metadata, ContentLength: smallFile.length })
  })

  test('cannot be deleted, whereas deleting a missing file succeeds', async () => {
    await put('people.csv')
    const client = gateway.clientOf(owner)
    await expect(client.send(new DeleteObjectCommand(target('people.csv')))).rejects.toThrow('has become an import')
    await client.send(new DeleteObjectCommand(target('none.csv')))
    expect(await names()).toEqual(['people.csv'])
  })
})

describe('a repeated request', () => {
  const path = () => `/${gateway.bucket}/${owner.path}people.csv`

  test('with the same signature creates no second import and leaves no second copy', async () => {
    const request = { method: 'PUT', path: path(), body: smallFile, signedAt: new Date() }
    const first = await gateway.send(owner, request)
    expect(first.status).toBe(200)
    const again = await Promise.all(Array.from({ length: 5 }, () => gateway.send(owner, request)))
    expect(again.map(({ status, headers }) => [status, headers.etag])).toEqual(Array(5).fill([200, first.headers.etag]))
    expect(await imports()).toHaveLength(1)
    const keys: string[] = []
    for await (const page of gateway.maintenance.storage.list(`apps/${owner.appId}/`))
      keys.push(...page.map(({ key }) => key))
    expect(keys).toHaveLength(1)
  })

  test('to a pre-signed address creates a new import only if the content differs', async () => {
    const url = await gateway.presignPut(owner, `${owner.path}a.csv`, 60)
    for (const body of [smallFile, smallFile, `${smallFile}bob,Bob\n`]) {
      expect((await fetch(url, { method: 'PUT', body })).status).toBe(200)
    }
    expect(await imports()).toHaveLength(2)
  })

  test('with a new signature creates a new import even if the content is the same', async () => {
    await gateway.send(owner, { method: 'PUT', path: path(), body: smallFile, signedAt: new Date(Date.now() - 2000) })
    await gateway.send(owner, { method: 'PUT', path: path(), body: smallFile })
    expect(await imports()).toHaveLength(2)
  })

  test('to complete an upload returns the same answer and creates no second import', async () => {
    const { uploadId, complete } = await beginWithPart('a.csv')
    const answers = await Promise.all([complete(), complete(), complete()])
    const late = await complete()
    for (const { ETag: etag } of answers) expect(etag).toBe(late.ETag)
    expect(await imports()).toMatchObject([{ import_id: uploadId }])
  })

  test('to complete an upload creates the import after a crash between storage and the database', async () => {
    const { uploadId, etag, complete } = await beginWithPart('a.csv')
    const { storage_upload_id } = await rowOf(uploadId)
    const { storage } = gateway.maintenance
    await storage.completeParts(objectKeyOf(uploadId), storage_upload_id ?? '', [{ partNumber: 1, etag }])
    await complete()
    expect(await imports()).toMatchObject([{ import_id: uploadId }])
  })
})

describe('a listing', () => {
  test('shows imports and unannounced files of the path together, in pages', async () => {
    const given = ['b.csv', 'a.csv', 'ü.csv', '\u{1f600}.csv', '\uffed.csv', 'a-1.csv']
    for (const name of given) await put(name)
    await putPast(gateway, owner, 'aa.csv')
    await putPast(gateway, owner, 'z z.csv')
    await putPast(gateway, owner, 'folder/x.csv')
    const expected = [...given, 'aa.csv', 'z z.csv', 'folder/x.csv'].sort((left, right) =>
      Buffer.from(left).compare(Buffer.from(right)),
    )
    for (const pageSize of [1, 2, 3, 100]) {
      const pages = paginateListObjectsV2(
        { client: gateway.clientOf(owner), pageSize },
        { Bucket: gateway.bucket, Prefix: owner.path },
      )
      const keys: string[] = []
      for await (const { Contents = [] } of pages)
        keys.push(...Contents.map(({ Key = '' }) => Key.slice(owner.path.length)))
      expect(keys, `pages of ${pageSize}`).toEqual(expected)
    }
    const folded = await gateway
      .clientOf(owner)
      .send(new ListObjectsV2Command({ Bucket: gateway.bucket, Prefix: owner.path, Delimiter: '/', MaxKeys: 5 }))
    expect(folded.CommonPrefixes).toEqual([{ Prefix: `${owner.path}folder/` }])
    const begun = await gateway
      .clientOf(owner)
      .send(new ListObjectsV2Command({ Bucket: gateway.bucket, Prefix: `${owner.path}a` }))
    expect(begun.Contents?.map(({ Key }) => Key)).toEqual(
      ['a-1.csv', 'a.csv', 'aa.csv'].map((n) => `${owner.path}${n}`),
    )
  })
})

test('an upload that is never completed is removed after two days, not earlier, also from storage', async () => {
  const { db, storage } = gateway.maintenance
  const { uploadId } = await beginWithPart('a.csv')
  const { storage_upload_id } = await rowOf(uploadId)
  const stored = () => storage.listParts(objectKeyOf(uploadId), storage_upload_id ?? '')
  const startHoursAgo = (hours: number) =>
    sql`update bucket_uploads set started_at = now() - make_interval(hours => ${hours})
      where import_id = ${uploadId}`.execute(db)

  await startHoursAgo(47)
  expect(await removeAbandonedUploads(gateway.maintenance)).toBe(0)
  expect(await stored()).toMatchObject([{ byteSize: smallFile.length }])

  await startHoursAgo(49)
  expect(await removeAbandonedUploads(gateway.maintenance)).toBe(1)
  await expect(stored()).rejects.toMatchObject({ code: 'NoSuchUpload' })
  const late = gateway.clientOf(owner).send(new ListPartsCommand({ ...target('a.csv'), UploadId: uploadId }))
  await expect(late).rejects.toMatchObject({ name: 'NoSuchUpload' })
  expect(await imports()).toEqual([])
})

test('of two processes that remove abandoned uploads at once, each counts its own', async () => {
  const uploads = ['a.csv', 'b.csv', 'c.csv']
  for (const name of uploads) await gateway.clientOf(owner).send(new CreateMultipartUploadCommand(target(name)))
  await sql`update bucket_uploads set started_at = now() - interval '49 hours'`.execute(gateway.db)
  const remove = () => removeAbandonedUploads(gateway.maintenance)
  const [first, second] = await Promise.all([remove(), remove()])
  expect(first + second).toBe(uploads.length)
})
