import { createHash } from 'node:crypto'
import type { OperationName } from '@sluice/s3-endpoint'
import {
  conditionalHeaders,
  headersOfOperation,
  type RawAnswer,
  type RawRequest,
  send,
} from '@sluice/s3-endpoint/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { type RunningEndpoint, runEndpoint, testBucket } from './start.fixture.ts'

const objectPath = `/${testBucket}/k`
const objectBody = '0123456789'
const objectEtag = `"${md5(objectBody).toString('hex')}"`
const longAgo = 'Sat, 01 Jan 2000 00:00:00 GMT'
const farFuture = 'Tue, 01 Jan 2999 00:00:00 GMT'

/** For each conditional header, a value with which the condition fails for the object `k`. */
const failingValues: Record<string, string> = {
  'if-match': '"other"',
  'if-modified-since': farFuture,
  'if-none-match': '*',
  'if-unmodified-since': longAgo,
  'x-amz-copy-source-if-match': '"other"',
  'x-amz-copy-source-if-modified-since': farFuture,
  'x-amz-copy-source-if-none-match': objectEtag,
  'x-amz-copy-source-if-unmodified-since': longAgo,
  'x-amz-if-match-initiated-time': longAgo,
  'x-amz-if-match-last-modified-time': longAgo,
  'x-amz-if-match-size': '1',
  'x-amz-object-if-match': '"other"',
  'x-amz-rename-source-if-match': '"other"',
  'x-amz-rename-source-if-modified-since': farFuture,
  'x-amz-rename-source-if-none-match': objectEtag,
  'x-amz-rename-source-if-unmodified-since': longAgo,
}

/**
 * The conditional headers that an operation obeys, with its answer if the condition fails. Other headers are answered
 * 501.
 */
const obeyedConditions: Partial<Record<OperationName, Record<string, number>>> = {
  GetObject: { 'if-match': 412 },
  HeadObject: { 'if-match': 412 },
  CopyObject: { 'x-amz-copy-source-if-match': 412 },
}

/**
 * Headers that this endpoint does not answer with 501: supported headers and conditions. Other tests cover their
 * values.
 */
const knownHeader =
  /^x-amz-(?:acl|storage-class|metadata-directive|copy-source|mp-object-size|sdk-checksum-algorithm|checksum-(?:algorithm|crc32|crc32c|crc64nvme|mode|sha1|sha256|type)|.*if-.*)$/

const conditions = conditionalHeaders()

let endpoint: RunningEndpoint
let uploadId: string
beforeEach(async (context) => {
  endpoint = await runEndpoint({}, (end) => context.onTestFinished(end))
  await send(endpoint.url, { method: 'PUT', path: objectPath, body: objectBody })
  const begun = await send(endpoint.url, { method: 'POST', path: `${objectPath}?uploads` })
  uploadId = /<UploadId>(.*)<\/UploadId>/.exec(begun.text)?.[1] ?? ''
  const path = `${objectPath}?uploadId=${uploadId}&partNumber=1`
  expect(await send(endpoint.url, { method: 'PUT', path, body: objectBody })).toMatchObject({ status: 200 })
})

/** For each operation, a request that succeeds. It changes the object `k` or the upload if the operation can. */
const requests: Record<OperationName, () => RawRequest> = {
  AbortMultipartUpload: () => ({ method: 'DELETE', path: `${objectPath}?uploadId=${uploadId}` }),
  CompleteMultipartUpload: () => ({
    method: 'POST',
    path: `${objectPath}?uploadId=${uploadId}`,
    body: `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${objectEtag}</ETag></Part></CompleteMultipartUpload>`,
  }),
  CopyObject: () => ({
    method: 'PUT',
    path: `/${testBucket}/copy`,
    headers: { 'x-amz-copy-source': objectPath },
  }),
  CreateBucket: () => ({ method: 'PUT', path: '/new-bucket' }),
  CreateMultipartUpload: () => ({ method: 'POST', path: `${objectPath}?uploads` }),
  DeleteObject: () => ({ method: 'DELETE', path: objectPath }),
  DeleteObjects: () => deleteRequest('<Key>k</Key>'),
  GetBucketLocation: () => ({ path: `/${testBucket}?location` }),
  GetObject: () => ({ path: objectPath }),
  HeadBucket: () => ({ method: 'HEAD', path: `/${testBucket}` }),
  HeadObject: () => ({ method: 'HEAD', path: objectPath }),
  ListMultipartUploads: () => ({ path: `/${testBucket}?uploads` }),
  ListObjects: () => ({ path: `/${testBucket}` }),
  ListObjectsV2: () => ({ path: `/${testBucket}?list-type=2` }),
  ListParts: () => ({ path: `${objectPath}?uploadId=${uploadId}` }),
  PutObject: () => ({ method: 'PUT', path: objectPath, body: 'another' }),
  UploadPart: () => ({ method: 'PUT', path: `${objectPath}?uploadId=${uploadId}&partNumber=1`, body: 'another' }),
}

function deleteRequest(object: string): RawRequest {
  const body = `<Delete><Object>${object}</Object></Delete>`
  return {
    method: 'POST',
    path: `/${testBucket}?delete`,
    body,
    headers: { 'content-md5': md5(body).toString('base64') },
  }
}

function sendUnder(name: OperationName, condition: Record<string, string>): Promise<RawAnswer> {
  const request = requests[name]()
  return send(endpoint.url, { ...request, headers: { ...request.headers, ...condition } })
}

function md5(text: string): Buffer {
  return createHash('md5').update(text).digest()
}

/** Reads everything that a request can change. */
async function state(): Promise<unknown> {
  const texts = await Promise.all(
    [objectPath, `/${testBucket}?uploads`, `${objectPath}?uploadId=${uploadId}`, `/${testBucket}`].map(async (path) => {
      const { status, text, headers } = await send(endpoint.url, { path })
      return [status, text.replace(/<RequestId>.*<\/RequestId>/, ''), headers['last-modified']]
    }),
  )
  return texts
}

test('the tested conditional headers are those of the installed model of S3', () => {
  expect(conditions).toEqual(Object.keys(failingValues).sort())
})

describe.each(Object.keys(requests) as OperationName[])('%s', (name) => {
  test('obeys each failing condition or answers 501, and changes nothing', async () => {
    const before = await state()
    const answers: Record<string, number> = {}
    const expected: Record<string, number> = {}
    for (const header of [...conditions, 'x-amz-some-if-match']) {
      answers[header] = (await sendUnder(name, { [header]: failingValues[header] ?? '"other"' })).status
      expected[header] = obeyedConditions[name]?.[header] ?? 501
    }
    expect(answers).toEqual(expected)
    expect(await state()).toEqual(before)
  })

  test('answers 501 to every x-amz- header of the model that it does not know', async () => {
    const before = await state()
    for (const header of headersOfOperation(name).filter((each) => !knownHeader.test(each))) {
      expect(await sendUnder(name, { [header]: 'true' }), header).toMatchObject({ status: 501 })
    }
    expect(await state()).toEqual(before)
  })

  test('succeeds without a condition', async () => {
    expect((await sendUnder(name, {})).status).toBeLessThan(300)
  })
})

test.each<[OperationName, string]>([
  ['GetObject', 'if-match'],
  ['HeadObject', 'if-match'],
  ['CopyObject', 'x-amz-copy-source-if-match'],
])('%s succeeds if %s names the ETag of the object, or any', async (name, header) => {
  for (const value of [objectEtag, objectEtag.replaceAll('"', ''), `"other", W/${objectEtag}`, '*']) {
    expect((await sendUnder(name, { [header]: value })).status, value).toBeLessThan(300)
  }
})

test.each(['ETag', 'LastModifiedTime', 'Size', 'VersionId', 'Colour'])(
  'DeleteObjects answers 501 to <%s>, and deletes nothing',
  async (element) => {
    const request = deleteRequest(`<Key>k</Key><${element}>1</${element}>`)
    expect(await send(endpoint.url, request)).toMatchObject({ status: 501, code: 'NotImplemented' })
    expect(await send(endpoint.url, { path: objectPath })).toMatchObject({ status: 200 })
  },
)

test('If-Range is refused, because it would change what is sent', async () => {
  expect(await sendUnder('GetObject', { 'if-range': objectEtag })).toMatchObject({ status: 501 })
})
