import { CreateMultipartUploadCommand, UploadPartCommand } from '@aws-sdk/client-s3'
import { conditionalHeaders, type RawRequest } from '@sluice/s3-endpoint/testing'
import { beforeEach, expect, test } from 'vitest'
import { eachWithOwner } from './test-gateway.ts'

// The S3 gateway obeys a conditional header or refuses the request: a condition is never ignored.
const { gateway, owner } = eachWithOwner()
let uploadId: string
let etag: string

const file = 'user_id,name\nalice,Alice\n'
const longAgo = 'Sat, 01 Jan 2000 00:00:00 GMT'
const never = 'Tue, 01 Jan 2999 00:00:00 GMT'

beforeEach(async () => {
  await gateway.maintenance.storage.write(`${owner.path}found.csv`, Buffer.from(file), 'text/csv')
  const client = gateway.clientOf(owner)
  const target = { Bucket: gateway.bucket, Key: `${owner.path}parts.csv` }
  const begun = await client.send(new CreateMultipartUploadCommand(target))
  uploadId = begun.UploadId ?? ''
  const part = { ...target, UploadId: uploadId, PartNumber: 1, Body: file }
  etag = (await client.send(new UploadPartCommand(part))).ETag ?? ''
})

const mine = (name: string) => `/${gateway.bucket}/${owner.path}${name}`
const prefix = () => `prefix=${encodeURIComponent(owner.path)}`

/** A request for each operation that a key allows. */
const requests: Record<string, () => RawRequest> = {
  AbortMultipartUpload: () => ({ method: 'DELETE', path: `${mine('parts.csv')}?uploadId=${uploadId}` }),
  CompleteMultipartUpload: () => ({
    method: 'POST',
    path: `${mine('parts.csv')}?uploadId=${uploadId}`,
    body: `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${etag}</ETag></Part></CompleteMultipartUpload>`,
  }),
  CreateMultipartUpload: () => ({ method: 'POST', path: `${mine('new.csv')}?uploads` }),
  DeleteObject: () => ({ method: 'DELETE', path: mine('found.csv') }),
  GetBucketLocation: () => ({ path: `/${gateway.bucket}?location` }),
  HeadBucket: () => ({ method: 'HEAD', path: `/${gateway.bucket}` }),
  HeadObject: () => ({ method: 'HEAD', path: mine('found.csv') }),
  ListMultipartUploads: () => ({ path: `/${gateway.bucket}?uploads&${prefix()}` }),
  ListObjects: () => ({ path: `/${gateway.bucket}?${prefix()}` }),
  ListObjectsV2: () => ({ path: `/${gateway.bucket}?list-type=2&${prefix()}` }),
  ListParts: () => ({ path: `${mine('parts.csv')}?uploadId=${uploadId}` }),
  PutObject: () => ({ method: 'PUT', path: mine('new.csv'), body: file }),
  UploadPart: () => ({ method: 'PUT', path: `${mine('parts.csv')}?uploadId=${uploadId}&partNumber=1`, body: 'x' }),
}

const failing = (header: string) => {
  if (header.endsWith('if-none-match')) return '*'
  if (header.endsWith('-modified-since')) return never
  if (header.endsWith('-unmodified-since') || header.endsWith('-time')) return longAgo
  return header.endsWith('-size') ? '1' : '"other"'
}

async function state(): Promise<unknown> {
  const listings = await Promise.all(
    ['ListMultipartUploads', 'ListObjects', 'ListParts'].map(async (name) => {
      const { status, text } = await gateway.send(owner, requests[name]?.() ?? { path: '/' })
      expect(status).toBe(200)
      return text
    }),
  )
  return [listings, await gateway.importsOf(owner)]
}

test.each(Object.keys(requests))(
  '%s obeys each conditional header, or is refused and changes nothing',
  async (name) => {
    const before = await state()
    const answers: Record<string, number> = {}
    const expected: Record<string, number> = {}
    for (const header of conditionalHeaders()) {
      const request = requests[name]?.() ?? { path: '/' }
      answers[header] = (await gateway.send(owner, { ...request, headers: { [header]: failing(header) } })).status
      expected[header] = name === 'HeadObject' && header === 'if-match' ? 412 : 501
    }
    expect(answers).toEqual(expected)
    expect(await state()).toEqual(before)
    expect((await gateway.send(owner, requests[name]?.() ?? { path: '/' })).status).toBeLessThan(300)
  },
)
