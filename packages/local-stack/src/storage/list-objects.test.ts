import { createHash } from 'node:crypto'
import {
  DeleteObjectsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3'
import { send } from '@sluice/s3-endpoint/testing'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { type RunningEndpoint, runEndpoint, testBucket } from './start.fixture.ts'

const Bucket = testBucket
/**
 * The keys include a character that XML forbids, keys that UTF-16 sorts differently, and a key longer than a file name.
 */
const keys = ['a', 'a/', 'a/b', 'a/c/d', 'a b+c&<d>', 'b\u0001', 'z/y', 'ü', '\uffee', '😀', `long/${'ü'.repeat(200)}`]
const sortedKeys = keys.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)))

let endpoint: RunningEndpoint
beforeEach(async (context) => {
  endpoint = await runEndpoint({}, (end) => context.onTestFinished(end))
  const client = endpoint.client()
  await Promise.all(keys.map((Key) => client.send(new PutObjectCommand({ Bucket, Key, Body: Key }))))
})

describe('a listing', () => {
  test('shows all objects in the order of their bytes, with size, ETag and time', async () => {
    const { Contents, KeyCount, IsTruncated } = await endpoint.client().send(new ListObjectsV2Command({ Bucket }))
    expect(Contents?.map(({ Key }) => Key)).toEqual(sortedKeys)
    expect(Contents?.map(({ Size }) => Size)).toEqual(sortedKeys.map((key) => Buffer.byteLength(key)))
    expect(Contents?.[0]?.ETag).toBe('"0cc175b9c0f1b6a831c399e269772661"')
    expect(Math.abs(Date.now() - Number(Contents?.[0]?.LastModified))).toBeLessThan(60_000)
    expect([KeyCount, IsTruncated]).toEqual([keys.length, false])
  })

  test('is complete in pages of any size, with any prefix and delimiter', async () => {
    const client = endpoint.client()
    const request = fc.record({
      MaxKeys: fc.integer({ min: 1, max: 4 }),
      Prefix: fc.constantFrom('', 'a', 'a/', 'none'),
      Delimiter: fc.constantFrom(undefined, '/'),
      EncodingType: fc.constantFrom(undefined, 'url' as const),
    })
    await fc.assert(
      fc.asyncProperty(request, async ({ MaxKeys, Prefix, Delimiter, EncodingType }) => {
        const input = { Bucket, Prefix, ...(Delimiter && { Delimiter }), ...(EncodingType && { EncodingType }) }
        const whole = await client.send(new ListObjectsV2Command(input))
        const names: unknown[] = []
        for await (const page of paginateListObjectsV2({ client, pageSize: MaxKeys }, input)) {
          names.push(...namesOf(page))
        }
        expect(names.toSorted()).toEqual(namesOf(whole).toSorted())
      }),
      { numRuns: 15 },
    )
  })

  test('rolls keys up to common prefixes', async () => {
    const page = await endpoint.client().send(new ListObjectsV2Command({ Bucket, Delimiter: '/', Prefix: 'a' }))
    expect(page.CommonPrefixes).toEqual([{ Prefix: 'a/' }])
    expect(page.Contents?.map(({ Key }) => Key)).toEqual(['a', 'a b+c&<d>'])
  })

  test('encodes keys for URLs on request, so that any key can be read', async () => {
    const { text } = await send(endpoint.url, { path: `/${testBucket}?list-type=2&encoding-type=url` })
    expect(text).toContain('<Key>b%01</Key>')
    expect(text).toContain('<Key>a/c/d</Key>')
    expect(text).toContain('<Key>a%20b%2Bc%26%3Cd%3E</Key>')
  })

  test('starts after a given key', async () => {
    const page = await endpoint.client().send(new ListObjectsV2Command({ Bucket, StartAfter: 'z/y' }))
    expect(page.Contents?.map(({ Key }) => Key)).toEqual(['ü', '\uffee', '😀'])
  })

  test('continues by markers in the first version of the call', async () => {
    const client = endpoint.client()
    const first = await client.send(new ListObjectsCommand({ Bucket, Delimiter: '/', MaxKeys: 2 }))
    expect([namesOf(first), first.NextMarker]).toEqual([['a', 'a b+c&<d>'], 'a b+c&<d>'])
    const second = await client.send(
      new ListObjectsCommand({ Bucket, Delimiter: '/', MaxKeys: 2, Marker: 'a b+c&<d>' }),
    )
    expect([namesOf(second), second.NextMarker]).toEqual([['b\u0001', 'a/'], 'b\u0001'])
    const third = await client.send(new ListObjectsCommand({ Bucket, Delimiter: '/', MaxKeys: 2, Marker: 'b\u0001' }))
    expect(namesOf(third)).toEqual(['long/', 'z/'])
  })

  test.each([
    ['max-keys=0', 200, '<KeyCount>0</KeyCount>'],
    ['max-keys=5000', 200, '<MaxKeys>1000</MaxKeys>'],
    ['max-keys=-1', 400, 'InvalidArgument'],
    ['max-keys=x', 400, 'InvalidArgument'],
    ['encoding-type=base64', 400, 'InvalidArgument'],
    ['continuation-token=%25', 400, 'InvalidArgument'],
    ['something-else=1', 501, 'NotImplemented'],
  ])('with %s answers %d', async (query, status, part) => {
    const answer = await send(endpoint.url, { path: `/${testBucket}?list-type=2&${query}` })
    expect(answer).toMatchObject({ status, text: expect.stringContaining(part) })
  })

  test('of a missing bucket is refused', async () => {
    expect(await send(endpoint.url, { path: '/no-bucket?list-type=2' })).toMatchObject({ code: 'NoSuchBucket' })
  })
})

describe('deleting many objects', () => {
  test('deletes the named objects, whatever their keys, and reports each', async () => {
    const client = endpoint.client()
    const Objects = ['a/b', 'a b+c&<d>', 'b\u0001', 'none'].map((Key) => ({ Key }))
    const answer = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
    expect(answer.Deleted).toEqual(Objects)
    const left = await client.send(new ListObjectsV2Command({ Bucket }))
    expect(left.Contents).toHaveLength(keys.length - 3)
    const quiet = await client.send(
      new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'a' }], Quiet: true } }),
    )
    expect([quiet.Deleted, quiet.Errors]).toEqual([undefined, undefined])
  })

  const remove = (body: string, headers: Record<string, string> = { 'content-md5': md5(body) }) => {
    return send(endpoint.url, { method: 'POST', path: `/${testBucket}?delete`, body, headers })
  }
  const md5 = (text: string) => createHash('md5').update(text).digest('base64')

  test('is refused without a digest, with too many keys, and with a document that is too large or not XML', async () => {
    expect(await remove('<Delete><Object><Key>a</Key></Object></Delete>', {})).toMatchObject({ code: 'InvalidRequest' })
    expect(await remove('<Delete></Delete>')).toMatchObject({ code: 'MalformedXML' })
    expect(await remove('{}')).toMatchObject({ code: 'MalformedXML' })
    expect(await remove(`<Delete>${'<Object><Key>a</Key></Object>'.repeat(1001)}</Delete>`)).toMatchObject({
      code: 'MalformedXML',
    })
    expect(await remove(' '.repeat(5 * 1024 * 1024))).toMatchObject({ status: 400, code: 'MaxMessageLengthExceeded' })
  })
})

function namesOf(page: {
  Contents?: { Key?: string | undefined }[] | undefined
  CommonPrefixes?: { Prefix?: string | undefined }[] | undefined
}): unknown[] {
  return [...(page.Contents ?? []).map(({ Key }) => Key), ...(page.CommonPrefixes ?? []).map(({ Prefix }) => Prefix)]
}
