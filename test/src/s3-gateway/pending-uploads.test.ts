import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { listUploads } from '@sluice/bucket-uploads'
import { beforeEach, expect, test } from 'vitest'
import { eachWithOwner } from './test-gateway.ts'

// How the S3 gateway lists multipart uploads that an app has not completed.
const { gateway, owner } = eachWithOwner()

const names = ['b.csv', 'B.csv', 'a.csv', 'a.csv', 'a-1.csv', '\u{1f600}.csv', '\uffed.csv']

beforeEach(async () => {
  for (const app of [owner, await gateway.openOwner()]) {
    const client = gateway.clientOf(app)
    for (const name of names) {
      await client.send(new CreateMultipartUploadCommand({ Bucket: gateway.bucket, Key: `${app.path}${name}` }))
    }
  }
})

interface Input {
  Prefix: string
  Delimiter?: string
  MaxUploads?: number
  KeyMarker?: string
  UploadIdMarker?: string | undefined
}

async function list(input: Input) {
  const command = new ListMultipartUploadsCommand({ Bucket: gateway.bucket, ...input })
  return await gateway.clientOf(owner).send(command)
}
const shown = ({ Uploads = [], CommonPrefixes = [] }: Awaited<ReturnType<typeof list>>) => {
  const keys = [...Uploads.map(({ Key = '' }) => Key), ...CommonPrefixes.map(({ Prefix = '' }) => Prefix)]
  return keys.map((key) => key.slice(owner.path.length))
}

test.each<[string, string | undefined, string[]]>([
  ['', undefined, ['B.csv', 'a-1.csv', 'a.csv', 'a.csv', 'b.csv', '\uffed.csv', '\u{1f600}.csv']],
  ['', '/', ['B.csv', 'a-1.csv', 'a.csv', 'a.csv', 'b.csv', '\uffed.csv', '\u{1f600}.csv']],
  ['a', undefined, ['a-1.csv', 'a.csv', 'a.csv']],
  ['a.csv', '', ['a.csv', 'a.csv']],
  ['a', '.', ['a-1.', 'a.']],
  ['none', '/', []],
])('pending uploads under "%s" with the delimiter %s', async (begin, Delimiter, expected) => {
  const page = await list({ Prefix: `${owner.path}${begin}`, ...(Delimiter !== undefined && { Delimiter }) })
  expect([shown(page), page.IsTruncated]).toEqual([expected, false])
})

test('pending uploads are listed in pages of common prefixes', async () => {
  const first = await list({ Prefix: owner.path, Delimiter: '.', MaxUploads: 2 })
  expect([shown(first), first.IsTruncated]).toEqual([['B.', 'a-1.'], true])
  const second = await list({
    Prefix: owner.path,
    Delimiter: '.',
    MaxUploads: 2,
    ...(first.NextKeyMarker !== undefined && { KeyMarker: first.NextKeyMarker }),
  })
  expect(shown(second)).toEqual(['a.', 'b.'])
})

test.each(['', 'uploads/'])('pending uploads of all apps (prefix "%s") are denied', async (Prefix) => {
  await expect(list({ Prefix, Delimiter: '/' })).rejects.toMatchObject({ name: 'AccessDenied' })
})

test('pending uploads of one name are listed in pages', async () => {
  const Prefix = owner.path
  const found: unknown[] = []
  let page: Awaited<ReturnType<typeof list>> | undefined
  do {
    const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page ?? {}
    page = await list({ Prefix, MaxUploads: 1, ...(KeyMarker !== undefined && { KeyMarker, UploadIdMarker }) })
    found.push(...shown(page))
  } while (page.IsTruncated)
  expect(found).toEqual(['B.csv', 'a-1.csv', 'a.csv', 'a.csv', 'b.csv', '\uffed.csv', '\u{1f600}.csv'])
})

test('pending uploads are looked up a page at a time, even if thousands share a common prefix', async () => {
  const { appId, path } = owner
  const rows = Array.from({ length: 2_500 }, (_, index) => {
    return { app_id: appId, file_name: `many.${index}`, storage_upload_id: 'x' }
  })
  await gateway.db.insertInto('bucket_uploads').values(rows).execute()
  const request = { namePrefix: 'many', after: { fileName: '', importId: '' }, limit: 7 }
  expect(await listUploads(gateway.db, appId, request)).toHaveLength(7)
  const page = await list({ Prefix: `${path}many`, Delimiter: '.' })
  expect([shown(page), page.IsTruncated]).toEqual([['many.'], false])
  const whole = await list({ Prefix: `${path}many` })
  expect([whole.Uploads?.length, whole.IsTruncated]).toEqual([1000, true])
  // These uploads exist only in the database.
  await gateway.db.deleteFrom('bucket_uploads').where('app_id', '=', appId).execute()
})

test('the parts of an upload are listed in pages', async () => {
  const target = { Bucket: gateway.bucket, Key: `${owner.path}parts.csv` }
  const client = gateway.clientOf(owner)
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target))
  for (const PartNumber of [1, 5, 9]) {
    await client.send(new UploadPartCommand({ ...target, UploadId, PartNumber, Body: 'a' }))
  }
  const listParts = (more: object) => client.send(new ListPartsCommand({ ...target, UploadId, ...more }))
  const shownParts = ({ Parts = [], IsTruncated }: Awaited<ReturnType<typeof listParts>>) => {
    return [Parts.map(({ PartNumber }) => PartNumber), IsTruncated]
  }
  expect(shownParts(await listParts({}))).toEqual([[1, 5, 9], false])
  expect(shownParts(await listParts({ MaxParts: 2 }))).toEqual([[1, 5], true])
  expect(shownParts(await listParts({ MaxParts: 2, PartNumberMarker: '5' }))).toEqual([[9], false])
  expect(shownParts(await listParts({ PartNumberMarker: '9' }))).toEqual([[], false])
})
