import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { conditionalElements, conditionalHeaders, headersOfOperation } from '../testing/model.ts'
import { type RawAnswer, type RawRequest, send } from '../testing/raw-request.ts'
import { type RunningEndpoint, runEndpoint, testBucket } from '../testing/running-endpoint.ts'
import type { OperationName } from './context.ts'

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
  GetObject: { 'if-match': 412, 'if-modified-since': 304, 'if-none-match': 304, 'if-unmodified-since': 412 },
  HeadObject: { 'if-match': 412, 'if-modified-since': 304, 'if-none-match': 304, 'if-unmodified-since': 412 },
  PutObject: { 'if-match': 412, 'if-none-match': 412 },
  CompleteMultipartUpload: { 'if-match': 412, 'if-none-match': 412 },
  CopyObject: {
    'if-match': 412,
    'if-none-match': 412,
    'x-amz-copy-source-if-match': 412,
    'x-amz-copy-source-if-modified-since': 412,
    'x-amz-copy-source-if-none-match': 412,
    'x-amz-copy-source-if-unmodified-since': 412,
  },
  DeleteObject: { 'if-match': 412, 'x-amz-if-match-last-modified-time': 412, 'x-amz-if-match-size': 412 },
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
    path: objectPath,
    headers: { 'x-amz-copy-source': objectPath, 'x-amz-metadata-directive': 'REPLACE' },
  }),
  CreateBucket: () => ({ method: 'PUT', path: '/new-bucket' }),
  CreateMultipartUpload: () => ({ method: 'POST', path: `${objectPath}?uploads` }),
  DeleteObject: () => ({ method: 'DELETE', path: objectPath }),
  DeleteObjects: () => deleteRequest('<Key>k</Key>'),
  GetBucketLocation: () => ({ path: `/${testBucket}?location` }),
  GetObject: () => ({ path: objectPath }),
  HeadBucket: () => ({ method: 'HEAD', path: `/${testBucket}` }),
  HeadObject: () => ({ method: 'HEAD', path: objectPath }),
  ListBuckets: () => ({ path: '/' }),
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
    [objectPath, `/${testBucket}?uploads`, `${objectPath}?uploadId=${uploadId}`, '/'].map(async (path) => {
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

describe('a request whose condition holds succeeds:', () => {
  const held: [OperationName, Record<string, string>][] = [
    ['GetObject', { 'if-match': objectEtag, 'if-none-match': '"other"' }],
    ['GetObject', { 'if-unmodified-since': farFuture, 'if-modified-since': longAgo }],
    ['HeadObject', { 'if-match': objectEtag, 'if-none-match': '"other"' }],
    ['HeadObject', { 'if-unmodified-since': farFuture, 'if-modified-since': longAgo }],
    ['PutObject', { 'if-match': objectEtag }],
    ['CompleteMultipartUpload', { 'if-match': objectEtag }],
    ['CopyObject', { 'if-match': objectEtag, 'x-amz-copy-source-if-match': objectEtag }],
    ['CopyObject', { 'x-amz-copy-source-if-none-match': '"other"' }],
    ['CopyObject', { 'x-amz-copy-source-if-unmodified-since': farFuture }],
    ['CopyObject', { 'x-amz-copy-source-if-modified-since': longAgo }],
    ['DeleteObject', { 'if-match': objectEtag }],
    ['DeleteObject', { 'if-match': '*' }],
    ['DeleteObject', { 'x-amz-if-match-size': String(objectBody.length) }],
  ]
  test.each(held)('%s under %o', async (name, condition) => {
    expect((await sendUnder(name, condition)).status).toBeLessThan(300)
  })
})

describe('a conditional deletion', () => {
  test('compares the time of the last change', async () => {
    const { headers } = await send(endpoint.url, { method: 'HEAD', path: objectPath })
    const condition = { 'x-amz-if-match-last-modified-time': headers['last-modified'] ?? '' }
    expect(await sendUnder('DeleteObject', condition)).toMatchObject({ status: 204 })
    expect(await send(endpoint.url, { path: objectPath })).toMatchObject({ code: 'NoSuchKey' })
  })

  test('fails if one of several conditions fails', async () => {
    const condition = { 'if-match': objectEtag, 'x-amz-if-match-size': '11' }
    expect(await sendUnder('DeleteObject', condition)).toMatchObject({ status: 412, code: 'PreconditionFailed' })
  })

  test.each([
    ['x-amz-if-match-size', 'ten'],
    ['x-amz-if-match-size', ''],
    ['x-amz-if-match-last-modified-time', 'yesterday'],
  ])('refuses %s "%s", and never takes it for no condition', async (header, value) => {
    expect(await sendUnder('DeleteObject', { [header]: value })).toMatchObject({ code: 'InvalidArgument' })
    expect(await send(endpoint.url, { path: objectPath })).toMatchObject({ status: 200 })
  })

  test('succeeds if the object is missing, as in S3', async () => {
    await sendUnder('DeleteObject', {})
    expect(await sendUnder('DeleteObject', { 'if-match': objectEtag })).toMatchObject({ status: 204 })
  })
})

describe('DeleteObjects', () => {
  /** For each conditional element, a value that fails and a value that holds for the object `k`. */
  const conditionValues: Record<string, { fails: string; holds: () => Promise<string> }> = {
    ETag: { fails: '"other"', holds: async () => objectEtag },
    LastModifiedTime: { fails: longAgo, holds: lastModified },
    Size: { fails: '1', holds: async () => String(objectBody.length) },
  }

  async function lastModified(): Promise<string> {
    return (await send(endpoint.url, { method: 'HEAD', path: objectPath })).headers['last-modified'] ?? ''
  }

  test.each(conditionalElements())('obeys <%s>', async (element) => {
    const { fails, holds } = conditionValues[element] ?? { fails: '', holds: async () => '' }
    const wrong = await send(endpoint.url, deleteRequest(`<Key>k</Key><${element}>${fails}</${element}>`))
    expect(wrong.text).toContain('<Error><Key>k</Key><Code>PreconditionFailed</Code>')
    expect(await send(endpoint.url, { path: objectPath })).toMatchObject({ status: 200 })
    const right = await send(endpoint.url, deleteRequest(`<Key>k</Key><${element}>${await holds()}</${element}>`))
    expect(right.text).toContain('<Deleted><Key>k</Key></Deleted>')
    expect(await send(endpoint.url, { path: objectPath })).toMatchObject({ status: 404 })
  })

  test('also reads a time in the form of listings', async () => {
    const time = new Date(await lastModified()).toISOString()
    const right = await send(endpoint.url, deleteRequest(`<Key>k</Key><LastModifiedTime>${time}</LastModifiedTime>`))
    expect(right.text).toContain('<Deleted><Key>k</Key></Deleted>')
  })

  test.each([
    ['<Key>k</Key><Size>ten</Size>', 400, 'MalformedXML'],
    ['<Key>k</Key><Size/>', 400, 'MalformedXML'],
    ['<Key>k</Key><LastModifiedTime>yesterday</LastModifiedTime>', 400, 'MalformedXML'],
    ['<Key>k</Key><VersionId>1</VersionId>', 501, 'NotImplemented'],
    ['<Key>k</Key><Colour>red</Colour>', 501, 'NotImplemented'],
  ])('refuses %s, and deletes nothing', async (object, status, code) => {
    expect(await send(endpoint.url, deleteRequest(object))).toMatchObject({ status, code })
    expect(await send(endpoint.url, { path: objectPath })).toMatchObject({ status: 200 })
  })
})

test.each(['x-amz-copy-source-if-modified-since', 'x-amz-copy-source-if-unmodified-since'])(
  'a copy refuses %s if it is not a date, and copies nothing',
  async (header) => {
    expect(await sendUnder('CopyObject', { [header]: 'yesterday' })).toMatchObject({ code: 'InvalidArgument' })
  },
)

test('If-Range is refused by operations that send no bytes of an object', async () => {
  expect(await sendUnder('ListObjects', { 'if-range': objectEtag })).toMatchObject({ status: 501 })
})
