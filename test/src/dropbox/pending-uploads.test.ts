import { CreateMultipartUploadCommand, ListMultipartUploadsCommand } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Owner, openTestDropbox, type TestDropbox } from './test-dropbox.ts'

// The uploads in parts that an app has not completed, as the S3 gateway lists them.
let dropbox: TestDropbox
let owner: Owner

beforeAll(async () => {
  dropbox = await openTestDropbox()
})
afterAll(() => dropbox.close())

const names = ['b.csv', 'B.csv', 'a.csv', 'a.csv', 'a-1.csv', '\u{1f600}.csv', '\uffed.csv']

beforeEach(async () => {
  owner = await dropbox.openOwner()
  for (const app of [owner, await dropbox.openOwner()]) {
    const client = dropbox.clientOf(app)
    for (const name of names) {
      await client.send(new CreateMultipartUploadCommand({ Bucket: dropbox.bucket, Key: `${app.path}${name}` }))
    }
  }
})

async function list(input: { Prefix: string; Delimiter?: string; MaxUploads?: number; KeyMarker?: string }) {
  const command = new ListMultipartUploadsCommand({ Bucket: dropbox.bucket, ...input })
  return await dropbox.clientOf(owner).send(command)
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

test('pending uploads in pages of common prefixes', async () => {
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

test.each(['', 'dropbox/'])('pending uploads of all apps (prefix "%s") are denied', async (Prefix) => {
  await expect(list({ Prefix, Delimiter: '/' })).rejects.toMatchObject({ name: 'AccessDenied' })
})
