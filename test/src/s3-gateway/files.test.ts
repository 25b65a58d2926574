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
import { importUnannouncedFiles, removeAbandonedUploads } from '@sluice/bucket-uploads'
import { sql } from '@sluice/database'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Owner, openTestGateway, type TestGateway } from './test-gateway.ts'

// Files in the bucket become imports: each file once, in the order in which the uploads were completed.
let gateway: TestGateway
let owner: Owner

beforeAll(async () => {
  gateway = await openTestGateway()
})
afterAll(() => gateway.close())
beforeEach(async () => {
  owner = await gateway.openOwner()
  const { relay } = gateway.maintenance
  for await (const page of relay.list('uploads/')) for (const { key } of page) await relay.remove(key)
})

const file = 'user_id,name\nalice,Alice\n'
const day = 24 * 60 * 60_000
const target = (name: string) => ({ Bucket: gateway.bucket, Key: `${owner.path}${name}` })
const put = (name: string, Body: string | Buffer = file) => {
  return gateway.clientOf(owner).send(new PutObjectCommand({ ...target(name), Body }))
}
/** Puts a file into the bucket without the S3 gateway, as an operator's tools do. */
const putPast = (name: string, content: string | Buffer = file) => {
  const bytes = Buffer.from(content)
  const body = { byteSize: bytes.length, chunks: chunksOf(bytes) }
  return gateway.maintenance.relay.put(`${owner.path}${name}`, body, { contentType: 'text/csv', user: {} })
}
async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  if (bytes.length > 0) yield bytes
}

/** Returns the owner's imports, oldest first, with columns that the import's page does not show. */
async function imports() {
  return await gateway.db
    .selectFrom('imports')
    .select(['import_id', 'source', 'state', 'file_name', 'content_type', 'byte_size', 'object_key', 'etag'])
    .where('app_id', '=', owner.appId)
    .orderBy('sequence_number')
    .execute()
}
const names = async () => (await imports()).map((row) => row.file_name)
const listing = async () => {
  const { Contents = [] } = await gateway
    .clientOf(owner)
    .send(new ListObjectsV2Command({ Bucket: gateway.bucket, Prefix: owner.path }))
  return Contents.map(({ Key = '' }) => Key.slice(owner.path.length))
}
async function contentOf(objectKey: string): Promise<string> {
  return Buffer.concat(await (await gateway.maintenance.storage.read(objectKey)).toArray()).toString()
}

describe('an uploaded file', () => {
  test('is an import as soon as the gateway answers', async () => {
    await put('people.csv')
    expect(await imports()).toMatchObject([
      { source: 'bucket', state: 'queued', file_name: 'people.csv', content_type: 'text/csv', byte_size: file.length },
    ])
    expect(await gateway.importsOf(owner)).toMatchObject([{ source: 'bucket', state: 'queued' }])
    expect(await contentOf((await imports())[0]?.object_key ?? '')).toBe(file)
  })

  test.each<[string, Buffer | string, string]>([
    ['people.csv', file, 'text/csv'],
    ['people', file, 'text/csv'],
    ['people.csv.gz', gzipSync(file), 'application/gzip'],
    ['PEOPLE.GZ', gzipSync(file), 'application/gzip'],
    ['people', gzipSync(file), 'application/gzip'],
    ['people.csv', gzipSync(file), 'application/gzip'],
    ['people.csv.gz', file, 'application/gzip'],
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

  test('gets its sequence number when its upload is complete, however early the upload began', async () => {
    const client = gateway.clientOf(owner)
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(target('first-begun.csv')))
    const part = { ...target('first-begun.csv'), UploadId, PartNumber: 1 }
    const { ETag } = await client.send(new UploadPartCommand({ ...part, Body: file }))
    await put('second.csv')
    const { Parts } = await client.send(new ListPartsCommand({ ...target('first-begun.csv'), UploadId }))
    expect(Parts).toMatchObject([{ PartNumber: 1, Size: file.length, ETag }])
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
    const complete = new CompleteMultipartUploadCommand({ ...target('first-begun.csv'), UploadId, MultipartUpload })
    await client.send(complete)
    await put('third.csv')
    expect(await names()).toEqual(['second.csv', 'first-begun.csv', 'third.csv'])
  })

  test('keeps the metadata that its sender declared', async () => {
    const client = gateway.clientOf(owner)
    const Metadata = { mtime: '1795291541.5' }
    await client.send(new PutObjectCommand({ ...target('a.csv'), Body: file, ContentType: 'text/csv', Metadata }))
    const head = await client.send(new HeadObjectCommand(target('a.csv')))
    expect(head).toMatchObject({ ContentType: 'text/csv', Metadata, ContentLength: file.length })
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
    const request = { method: 'PUT', path: path(), body: file, signedAt: new Date() }
    const first = await gateway.send(owner, request)
    expect(first.status).toBe(200)
    const again = await Promise.all(Array.from({ length: 5 }, () => gateway.send(owner, request)))
    expect(again.map(({ status, headers }) => [status, headers.etag])).toEqual(Array(5).fill([200, first.headers.etag]))
    expect(await imports()).toHaveLength(1)
    const keys: string[] = []
    for await (const page of gateway.maintenance.relay.list(`apps/${owner.appId}/`))
      keys.push(...page.map(({ key }) => key))
    expect(keys).toHaveLength(1)
  })

  test('to a pre-signed address creates a new import only if the content differs', async () => {
    const url = await gateway.presignPut(owner, `${owner.path}a.csv`, 60)
    for (const body of [file, file, `${file}bob,Bob\n`]) {
      expect((await fetch(url, { method: 'PUT', body })).status).toBe(200)
    }
    expect(await imports()).toHaveLength(2)
  })

  test('with a new signature creates a new import even if the content is the same', async () => {
    await gateway.send(owner, { method: 'PUT', path: path(), body: file, signedAt: new Date(Date.now() - 2000) })
    await gateway.send(owner, { method: 'PUT', path: path(), body: file })
    expect(await imports()).toHaveLength(2)
  })

  test('to complete an upload returns the same answer and creates no second import', async () => {
    const client = gateway.clientOf(owner)
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(target('a.csv')))
    const part = { ...target('a.csv'), UploadId, PartNumber: 1, Body: file }
    const { ETag } = await client.send(new UploadPartCommand(part))
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
    const complete = () =>
      client.send(new CompleteMultipartUploadCommand({ ...target('a.csv'), UploadId, MultipartUpload }))
    const answers = await Promise.all([complete(), complete(), complete()])
    const late = await complete()
    for (const { ETag: etag } of answers) expect(etag).toBe(late.ETag)
    expect(await imports()).toMatchObject([{ import_id: UploadId }])
  })

  test('to complete an upload creates the import after a crash between storage and the database', async () => {
    const client = gateway.clientOf(owner)
    const { UploadId = '' } = await client.send(new CreateMultipartUploadCommand(target('a.csv')))
    const part = { ...target('a.csv'), UploadId, PartNumber: 1, Body: file }
    const { ETag = '' } = await client.send(new UploadPartCommand(part))
    const row = await gateway.db
      .selectFrom('bucket_uploads')
      .selectAll()
      .where('import_id', '=', UploadId)
      .executeTakeFirstOrThrow()
    const objectKey = `apps/${owner.appId}/imports/${UploadId}/upload`
    await gateway.maintenance.relay.completeParts(objectKey, row.storage_upload_id ?? '', [
      { partNumber: 1, etag: ETag },
    ])
    const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
    await client.send(new CompleteMultipartUploadCommand({ ...target('a.csv'), UploadId, MultipartUpload }))
    expect(await imports()).toMatchObject([{ import_id: UploadId }])
  })
})

describe('a listing', () => {
  test('shows imports and unannounced files of the path together, in pages', async () => {
    const given = ['b.csv', 'a.csv', 'ü.csv', '\u{1f600}.csv', '\uffed.csv', 'a-1.csv']
    for (const name of given) await put(name)
    await putPast('aa.csv')
    await putPast('z z.csv')
    await putPast('folder/x.csv')
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

describe('an unannounced file', () => {
  const take = () => importUnannouncedFiles(gateway.maintenance)

  test('becomes one import and is removed from the path', async () => {
    await putPast('people.csv')
    expect(await listing()).toEqual(['people.csv'])
    expect(await take()).toMatchObject({ imported: 1, mails: [] })
    expect(await take()).toMatchObject({ imported: 0, mails: [] })
    expect(await imports()).toMatchObject([{ source: 'bucket', state: 'queued', file_name: 'people.csv' }])
    expect(await contentOf((await imports())[0]?.object_key ?? '')).toBe(file)
    expect(await gateway.maintenance.relay.describe(`${owner.path}people.csv`)).toBeUndefined()
    expect(await listing()).toEqual(['people.csv'])
  })

  test('becomes one import even if several runs find it at the same moment', async () => {
    await putPast('people.csv')
    await Promise.all([take(), take(), take(), take()])
    expect(await imports()).toHaveLength(1)
  })

  test('becomes one import even if maintenance dies before it removes the file from the path', async () => {
    await putPast('people.csv')
    const { relay } = gateway.maintenance
    const dying = { ...gateway.maintenance, relay: { ...relay, remove: () => Promise.reject(new Error('killed')) } }
    await importUnannouncedFiles(dying)
    expect(await relay.describe(`${owner.path}people.csv`)).toBeDefined()
    expect(await imports()).toHaveLength(1)
    await take()
    expect(await imports()).toHaveLength(1)
    expect(await relay.describe(`${owner.path}people.csv`)).toBeUndefined()
  })

  test('that is replaced becomes another import', async () => {
    await putPast('people.csv', 'user_id\na\n')
    await take()
    await putPast('people.csv', 'user_id\nb\n')
    await take()
    expect(await imports()).toHaveLength(2)
  })

  test('that is replaced while it is being imported is left for the next run', async () => {
    await putPast('people.csv', 'user_id\na\n')
    const { relay } = gateway.maintenance
    const copy: typeof relay.copy = async (...args) => {
      await relay.copy(...args)
      await putPast('people.csv', 'user_id\nb\n')
    }
    await importUnannouncedFiles({ ...gateway.maintenance, relay: { ...relay, copy } })
    await take()
    const taken = await Promise.all((await imports()).map((row) => contentOf(row.object_key)))
    expect(taken).toEqual(['user_id\na\n', 'user_id\nb\n'])
  })

  test('can be deleted until maintenance has found it', async () => {
    await putPast('people.csv')
    await gateway.clientOf(owner).send(new DeleteObjectCommand(target('people.csv')))
    await take()
    expect(await imports()).toEqual([])
  })

  test.each([
    ['a b.csv', 'white space'],
    ['folder/a.csv', 'slash'],
    ['..', 'must not be ..'],
  ])('that breaks the rules (%s) causes no import but one mail with the reason', async (name, reason) => {
    await putPast(name)
    const { imported, mails } = await take()
    expect([imported, mails.length]).toEqual([0, 1])
    expect(await take()).toMatchObject({ imported: 0, mails: [] })
    const sent = await gateway.db.selectFrom('mails').selectAll().where('app_id', '=', owner.appId).execute()
    expect(sent).toMatchObject([{ recipient: 'ann@example.com', text: expect.stringContaining(reason) }])
    expect(sent[0]?.text).toContain(name)
    expect(await imports()).toEqual([])
    expect(await listing()).toEqual([name])
  })

  test('that is too large causes no import but a mail', async () => {
    await putPast('large.csv')
    const { relay } = gateway.maintenance
    async function* list(prefix: string) {
      for await (const page of relay.list(prefix)) yield page.map((object) => ({ ...object, byteSize: 2 ** 30 + 1 }))
    }
    const { imported, mails } = await importUnannouncedFiles({ ...gateway.maintenance, relay: { ...relay, list } })
    expect([imported, mails.length]).toEqual([0, 1])
    expect(await imports()).toEqual([])
    await take()
  })

  test('that breaks the rules is removed after its retention time', async () => {
    await putPast('a b.csv')
    await take()
    const { relay } = gateway.maintenance
    const older = (object: { modifiedAt: Date }) => ({ modifiedAt: new Date(object.modifiedAt.getTime() - 7.01 * day) })
    async function* list(prefix: string) {
      for await (const page of relay.list(prefix)) yield page.map((object) => ({ ...object, ...older(object) }))
    }
    const describe: typeof relay.describe = async (key) => {
      const object = await relay.describe(key)
      return object && { ...object, ...older(object) }
    }
    await importUnannouncedFiles({ ...gateway.maintenance, relay: { ...relay, list, describe } })
    expect(await listing()).toEqual([])
  })

  test('is left alone if it is a folder marker or belongs to no app', async () => {
    await putPast('', '')
    await putPast('folder/', '')
    const key = 'uploads/999999/people.csv'
    const body = { byteSize: file.length, chunks: chunksOf(Buffer.from(file)) }
    await gateway.maintenance.relay.put(key, body, { contentType: 'text/csv', user: {} })
    expect(await take()).toEqual({ imported: 0, mails: [] })
    expect(await gateway.maintenance.relay.describe(key)).toBeDefined()
  })
})

test('an upload that is never completed is removed after two days, also from storage', async () => {
  const client = gateway.clientOf(owner)
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target('a.csv')))
  await client.send(new UploadPartCommand({ ...target('a.csv'), UploadId, PartNumber: 1, Body: file }))
  expect(await removeAbandonedUploads(gateway.maintenance)).toBe(0)
  await sql`update bucket_uploads set started_at = now() - interval '49 hours' where import_id = ${UploadId}`.execute(
    gateway.db,
  )
  expect(await removeAbandonedUploads(gateway.maintenance)).toBe(1)
  const late = client.send(new ListPartsCommand({ ...target('a.csv'), UploadId }))
  await expect(late).rejects.toMatchObject({ name: 'NoSuchUpload' })
  expect(await imports()).toEqual([])
})
