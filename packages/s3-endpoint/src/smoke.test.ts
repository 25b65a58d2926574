import { createHash, randomBytes } from 'node:crypto'
import {
  CopyObjectCommand, DeleteObjectsCommand, GetObjectCommand, HeadObjectCommand, ListObjectsV2Command, PutObjectCommand, GetBucketLocationCommand, ListBucketsCommand, DeleteObjectCommand, ListObjectsCommand
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { BUCKET, runEndpoint } from './testing/running-endpoint.ts'

test('smoke', async () => {
  const e = await runEndpoint()
  const c = e.client()
  const Bucket = BUCKET
  await c.send(new PutObjectCommand({ Bucket, Key: 'a/ü (1)+*.txt', Body: 'hello', Metadata: { x: 'y' } }))
  const g = await c.send(new GetObjectCommand({ Bucket, Key: 'a/ü (1)+*.txt' }))
  expect(await g.Body?.transformToString()).toBe('hello')
  expect(g.Metadata).toEqual({ x: 'y' })
  console.log(g)
  const body = randomBytes(12 * 1024 * 1024)
  await new Upload({ client: c, params: { Bucket, Key: 'big', Body: Readable.from([body]) } }).done()
  await new Upload({ client: c, params: { Bucket, Key: 'big2', Body: Readable.from([body]), ChecksumAlgorithm: 'CRC64NVME' } }).done()
  const g2 = await c.send(new GetObjectCommand({ Bucket, Key: 'big' }))
  expect(createHash('md5').update(await g2.Body!.transformToByteArray()).digest('hex')).toBe(createHash('md5').update(body).digest('hex'))
  await c.send(new PutObjectCommand({ Bucket, Key: 'stream', Body: Readable.from([body]), ContentLength: body.length }))
  for (const ChecksumAlgorithm of ['CRC32', 'CRC32C', 'SHA1', 'SHA256', 'CRC64NVME'] as const)
    await c.send(new PutObjectCommand({ Bucket, Key: 'sum/' + ChecksumAlgorithm, Body: 'x', ChecksumAlgorithm }))
  console.log(await c.send(new HeadObjectCommand({ Bucket, Key: 'big' })))
  await c.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource: `${BUCKET}/a/${encodeURIComponent('ü (1)+*.txt')}` }))
  console.log(JSON.stringify(await c.send(new ListObjectsV2Command({ Bucket, Delimiter: '/' })), null, 1))
  console.log(JSON.stringify(await c.send(new ListObjectsCommand({ Bucket, Delimiter: '/' })), null, 1))
  console.log(await c.send(new GetBucketLocationCommand({ Bucket })), await c.send(new ListBucketsCommand({})))
  console.log(await c.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'big' }, { Key: 'a/ü (1)+*.txt' }] } })))
  await c.send(new DeleteObjectCommand({ Bucket, Key: 'copy' }))
  const plain = e.client({ requestChecksumCalculation: 'WHEN_REQUIRED', responseChecksumValidation: 'WHEN_REQUIRED' })
  const md5 = createHash('md5').update('hello').digest('base64')
  const url = await getSignedUrl(plain, new PutObjectCommand({ Bucket, Key: 'pre', ContentType: 'text/csv', ContentLength: 5, ContentMD5: md5 }), { expiresIn: 300, signableHeaders: new Set(['host', 'content-type', 'content-md5', 'content-length']) })
  for (const [b, h] of [['hello', {}], ['hellO', {}], ['hello!', {}], ['hello', { 'content-type': 'x/y' }], ['hello', { 'content-md5': 'zz' }]] as const) {
    const r = await fetch(url, { method: 'PUT', body: b, headers: { 'content-type': 'text/csv', 'content-md5': md5, ...h } })
    console.log(r.status, await r.text())
  }
})
