import { randomUUID } from 'node:crypto'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { beforeAll, describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { putPast } from './bucket-files.ts'
import { type Owner, openTestGateway } from './test-gateway.ts'

// An invalid parameter is an error of the sender: the answer is 400, never 500.
const gateway = openBeforeAll(openTestGateway)
let owner: Owner
let other: Owner

beforeAll(async () => {
  owner = await gateway.openOwner()
  other = await gateway.openOwner()
})

const bucketWith = (query: string) => `/${gateway.bucket}?${query}`
const fileWith = (query: string, name = 'a.csv') => `/${gateway.bucket}/${owner.path}${name}${query}`
const ownPrefix = () => `prefix=${encodeURIComponent(owner.path)}`

const hostile = [
  ['NUL', '%00', 'InvalidArgument'],
  ['NUL in the middle', 'a%00b', 'InvalidArgument'],
  ['a lone surrogate', '%ED%A0%80', 'InvalidURI'],
  ['a byte that is no UTF-8', 'a%FFb', 'InvalidURI'],
  ['an overlong NUL', '%C0%80', 'InvalidURI'],
  ['an escape that is cut off', 'a%2', 'InvalidURI'],
  ['an escape of other letters', '%ZZ', 'InvalidURI'],
] as const

/** Positions of a value in a request: the method, and the path with the value. */
const positions: [string, string, (value: string) => string][] = [
  ['a key', 'HEAD', (value) => fileWith('', `${value}.csv`)],
  ['a key to be stored', 'PUT', (value) => fileWith('', `${value}.csv`)],
  ['a prefix', 'GET', (value) => bucketWith(`list-type=2&${ownPrefix()}${value}`)],
  ['a prefix of the first version', 'GET', (value) => bucketWith(`${ownPrefix()}${value}`)],
  ['a prefix of uploads', 'GET', (value) => bucketWith(`uploads&${ownPrefix()}${value}`)],
  ['a delimiter', 'GET', (value) => bucketWith(`list-type=2&${ownPrefix()}&delimiter=${value}`)],
  ['start-after', 'GET', (value) => bucketWith(`list-type=2&${ownPrefix()}&start-after=${owner.path}${value}`)],
  ['a continuation token', 'GET', (value) => bucketWith(`list-type=2&${ownPrefix()}&continuation-token=${value}`)],
  ['a marker', 'GET', (value) => bucketWith(`${ownPrefix()}&marker=${owner.path}${value}`)],
  ['max-keys', 'GET', (value) => bucketWith(`${ownPrefix()}&max-keys=${value}`)],
  ['an encoding', 'GET', (value) => bucketWith(`${ownPrefix()}&encoding-type=${value}`)],
  ['a key marker', 'GET', (value) => bucketWith(`uploads&${ownPrefix()}&key-marker=${owner.path}${value}`)],
  ['an upload ID marker', 'GET', (value) => bucketWith(`uploads&${ownPrefix()}&upload-id-marker=${value}`)],
  ['an upload ID', 'GET', (value) => fileWith(`?uploadId=${value}`)],
  ['an upload ID to be aborted', 'DELETE', (value) => fileWith(`?uploadId=${value}`)],
  ['an upload ID to be completed', 'POST', (value) => fileWith(`?uploadId=${value}`)],
  ['an upload ID of a part', 'PUT', (value) => fileWith(`?partNumber=1&uploadId=${value}`)],
  ['a part number', 'PUT', (value) => fileWith(`?partNumber=${value}&uploadId=${randomUUID()}`)],
  ['a marker of parts', 'GET', (value) => fileWith(`?uploadId=${randomUUID()}&part-number-marker=${value}`)],
  ['a name of a parameter', 'GET', (value) => bucketWith(`${ownPrefix()}&${value}=1`)],
  ['a bucket', 'HEAD', (value) => `/${value}`],
]

describe.each(hostile)('%s', (_name, value, code) => {
  test.each(positions)('as %s is refused', async (_position, method, pathOf) => {
    const answer = await gateway.send(owner, { method, path: pathOf(value), body: method === 'PUT' ? 'a' : '' })
    expect(answer.status).toBe(400)
    if (method !== 'HEAD') expect(answer.code).toBe(code)
  })

  test('as an access key of a pre-signed address is refused', async () => {
    const signed = new URL(await gateway.presignPut(owner, `${owner.path}a.csv`, 60))
    const url = signed.href.replace(owner.accessKeyId, value)
    expect((await fetch(url, { method: 'PUT', body: 'a' })).status).toBe(400)
  })
})

describe.each(['content-type', 'x-amz-meta-mtime'])('a file whose %s', (name) => {
  const path = () => fileWith('', 'headers.csv')
  const requests = (value: string) => [
    { method: 'PUT', path: path(), body: Buffer.from('user_id\n'), headers: { [name]: value } },
    { method: 'POST', path: `${path()}?uploads`, headers: { [name]: value } },
  ]

  // The gateway's signature of a tab differs from that of some storage.
  test('has tabs is stored, with spaces instead', async () => {
    for (const request of requests('text/csv;\tcharset=\t utf-8')) {
      expect(await gateway.send(owner, request)).toMatchObject({ status: 200 })
    }
    const answer = await gateway.send(owner, { method: 'HEAD', path: path() })
    expect(answer).toMatchObject({ status: 200, headers: { [name]: 'text/csv; charset= utf-8' } })
  })

  test('has tabs is stored if an SDK sends it', async () => {
    const put = new PutObjectCommand({
      Bucket: gateway.bucket,
      Key: `${owner.path}headers.csv`,
      Body: 'user_id\n',
      ...(name === 'content-type' ? { ContentType: 'text/\t\tcsv' } : { Metadata: { mtime: 'text/\t\tcsv' } }),
    })
    await gateway.clientOf(owner).send(put)
    const answer = await gateway.send(owner, { method: 'HEAD', path: path() })
    expect(answer).toMatchObject({ status: 200, headers: { [name]: 'text/ csv' } })
  })

  test('is not ASCII is refused, however its sender encodes it', async () => {
    for (const value of ['\u00e9t\u00e9', Buffer.from('\u00e9t\u00e9').toString('latin1'), 'a\u00a0b']) {
      for (const request of requests(value)) {
        expect(await gateway.send(owner, request)).toMatchObject({ status: 400, code: 'InvalidArgument' })
      }
    }
  })
})

test('a continuation token that holds NUL is refused', async () => {
  const token = Buffer.from(`${owner.path}\0`).toString('base64url')
  const path = bucketWith(`list-type=2&${ownPrefix()}&continuation-token=${token}`)
  expect(await gateway.send(owner, { path })).toMatchObject({ status: 400, code: 'InvalidArgument' })
})

describe('a path that leads elsewhere', () => {
  const dots = ['..', '.', '%2e%2e', '%2E%2e', '.%2E', '%2e', '%252e%252e', '%25252e.', '%255c..%252f..']
  const segments = [
    ...dots.map((dot) => `${dot}/a.csv`),
    ...dots.map((dot) => `x/${dot}/a.csv`),
    ...dots,
    'x%5C..%5Ca.csv',
    '..%5Ca.csv',
    '..%255Ca.csv',
    '..%2Fa.csv',
    '..%252Fa.csv',
    'x%2F..',
    '..%2F..%2Fapps%2F1%2Fimports%2Fx%2Fupload',
  ]

  const operations: [string, string, string][] = [
    ['HeadObject', 'HEAD', ''],
    ['DeleteObject', 'DELETE', ''],
    ['PutObject', 'PUT', ''],
    ['CreateMultipartUpload', 'POST', '?uploads'],
    ['UploadPart', 'PUT', `?partNumber=1&uploadId=${randomUUID()}`],
    ['ListParts', 'GET', `?uploadId=${randomUUID()}`],
    ['CompleteMultipartUpload', 'POST', `?uploadId=${randomUUID()}`],
    ['AbortMultipartUpload', 'DELETE', `?uploadId=${randomUUID()}`],
  ]

  test.each(operations)('is refused by %s', async (_name, method, query) => {
    for (const segment of segments) {
      const answer = await gateway.send(owner, { method, path: fileWith(query, segment), body: '' })
      expect(answer, segment).toMatchObject({ status: 403 })
    }
  })

  test.each(['list-type=2&', '', 'uploads&'])('is refused as a prefix of a listing: %s', async (query) => {
    for (const segment of segments) {
      const answer = await gateway.send(owner, { path: bucketWith(`${query}${ownPrefix()}${segment}`) })
      expect(answer, segment).toMatchObject({ status: 403 })
    }
  })

  test('is refused as the source of a copy', async () => {
    for (const segment of segments) {
      const headers = { 'x-amz-copy-source': `${gateway.bucket}/${owner.path}${segment}` }
      const answer = await gateway.send(owner, { method: 'PUT', path: fileWith(''), headers })
      expect(answer, segment).toMatchObject({ status: 403 })
    }
  })

  test('reaches no file of another app', async () => {
    const name = 'theirs.csv'
    await putPast(gateway, other, name, 'a')
    const path = fileWith('', `../${other.appId}/${name}`)
    expect(await gateway.send(owner, { method: 'HEAD', path })).toMatchObject({ status: 403 })
    expect(await gateway.send(owner, { method: 'DELETE', path })).toMatchObject({ status: 403 })
    expect(await gateway.maintenance.storage.stat(`${other.path}${name}`)).toBeDefined()
  })

  test('does not include names with dots in them', async () => {
    for (const name of ['a..csv', '..a.csv', 'a..', '...', '.a.csv']) {
      expect(await gateway.send(owner, { method: 'HEAD', path: fileWith('', name) }), name).toMatchObject({
        status: 404,
      })
    }
  })
})
