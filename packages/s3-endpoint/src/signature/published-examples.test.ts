/**
 * Tests with the worked examples of the S3 documentation ("Signature Calculations for the Authorization Header",
 * "Transferring Payload in Multiple Chunks", "… including trailing headers" and "Using Query Parameters").
 */
import { describe, expect, test } from 'vitest'
import type { Upload } from '../backend.ts'
import { readDeclaredBody } from '../body/declared.ts'
import { openUpload } from '../body/upload-body.ts'
import { parseHeaders } from '../protocol/headers.ts'
import { parseRequestTarget } from '../protocol/request-target.ts'
import { authenticate } from './authenticate.ts'

const exampleSecret = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
const exampleScope = 'AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request'
const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const exampleHost = 'examplebucket.s3.amazonaws.com'

interface Example {
  method: string
  url: string
  headers: Record<string, string>
}

function verify({ method, url, headers }: Example, now = '2013-05-24T00:00:00Z') {
  // The parser expects the bucket in the path, but the examples name it in the host name and sign the path without it.
  // So `/bkt` is added for the parser and removed before the check.
  const { rawPath, query } = parseRequestTarget(`/bkt${url}`)
  const request = { method, rawPath: rawPath.slice(4), query, headers: parseHeaders(Object.entries(headers).flat()) }
  return authenticate(request, {
    region: 'us-east-1',
    now: new Date(now),
    findCredentials: async (id) =>
      id === 'AKIAIOSFODNN7EXAMPLE' ? { secretAccessKey: exampleSecret, identity: id } : undefined,
  })
}

function authorization(signedHeaders: string, signature: string): string {
  return `AWS4-HMAC-SHA256 Credential=${exampleScope},SignedHeaders=${signedHeaders},Signature=${signature}`
}

const getRange: Example = {
  method: 'GET',
  url: '/test.txt',
  headers: {
    host: exampleHost,
    range: 'bytes=0-9',
    'x-amz-content-sha256': emptySha256,
    'x-amz-date': '20130524T000000Z',
    authorization: authorization(
      'host;range;x-amz-content-sha256;x-amz-date',
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    ),
  },
}
const putObject: Example = {
  method: 'PUT',
  url: '/test$file.text',
  headers: {
    date: 'Fri, 24 May 2013 00:00:00 GMT',
    host: exampleHost,
    'x-amz-content-sha256': '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
    'x-amz-date': '20130524T000000Z',
    'x-amz-storage-class': 'REDUCED_REDUNDANCY',
    authorization: authorization(
      'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    ),
  },
}
const getLifecycle: Example = {
  method: 'GET',
  url: '/?lifecycle',
  headers: {
    host: exampleHost,
    'x-amz-content-sha256': emptySha256,
    'x-amz-date': '20130524T000000Z',
    authorization: authorization(
      'host;x-amz-content-sha256;x-amz-date',
      'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    ),
  },
}
const listObjects: Example = {
  method: 'GET',
  url: '/?max-keys=2&prefix=J',
  headers: {
    ...getLifecycle.headers,
    authorization: authorization(
      'host;x-amz-content-sha256;x-amz-date',
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    ),
  },
}
const preSignedGet: Example = {
  method: 'GET',
  url:
    '/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256' +
    '&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request' +
    '&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host' +
    '&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
  headers: { host: exampleHost },
}
const chunkedHeaders = {
  'content-encoding': 'aws-chunked',
  host: 's3.amazonaws.com',
  'x-amz-date': '20130524T000000Z',
  'x-amz-decoded-content-length': '66560',
  'x-amz-storage-class': 'REDUCED_REDUNDANCY',
}
const chunkedPut: Example = {
  method: 'PUT',
  url: '/examplebucket/chunkObject.txt',
  headers: {
    ...chunkedHeaders,
    'content-length': '66824',
    'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
    authorization: authorization(
      'content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class',
      '4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9',
    ),
  },
}
const chunkedPutWithTrailer: Example = {
  method: 'PUT',
  url: '/examplebucket/chunkObject.txt',
  headers: {
    ...chunkedHeaders,
    'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER',
    'x-amz-trailer': 'x-amz-checksum-crc32c',
    authorization: authorization(
      'content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class;x-amz-trailer',
      '106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e',
    ),
  },
}

function chunkedBody(signatures: [string, string, string], trailer: string): string {
  const [first, second, last] = signatures
  return [
    `10000;chunk-signature=${first}\r\n${'a'.repeat(65536)}\r\n`,
    `400;chunk-signature=${second}\r\n${'a'.repeat(1024)}\r\n`,
    `0;chunk-signature=${last}\r\n${trailer}\r\n`,
  ].join('')
}
const signedBody = chunkedBody(
  [
    'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648',
    '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497',
    'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9',
  ],
  '',
)
const signedBodyWithTrailer = chunkedBody(
  [
    'b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2',
    '1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7',
    '2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992',
  ],
  'x-amz-checksum-crc32c:sOO8/Q==\r\n' +
    'x-amz-trailer-signature:d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n',
)

function withHeaders(example: Example, headers: Record<string, string>): Example {
  return { ...example, headers: { ...example.headers, ...headers } }
}

function withKey(accessKeyId: string): Example {
  const authorization = getRange.headers.authorization?.replace('AKIAIOSFODNN7EXAMPLE', accessKeyId) ?? ''
  return withHeaders(getRange, { authorization })
}

function anonymous(url: string): Example {
  return { method: 'GET', url, headers: { host: exampleHost } }
}

async function openExample(example: Example, body: string, pieceBytes: number): Promise<Upload> {
  const { signer, signature, payloadHash } = await verify(example)
  const declared = readDeclaredBody(parseHeaders(Object.entries(example.headers).flat()), payloadHash)
  return openUpload(pieces(body, pieceBytes), declared, { signer, seed: signature })
}

async function* pieces(body: string, bytes: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < body.length; start += bytes) yield Buffer.from(body.slice(start, start + bytes))
}

async function read(upload: Upload): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of upload.chunks) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

describe('the published examples verify', () => {
  test.each([
    ['GET of a range', getRange],
    ['PUT of an object', putObject],
    ['GET of a sub-resource', getLifecycle],
    ['GET of a listing', listObjects],
    ['pre-signed GET', preSignedGet],
    ['PUT in signed chunks', chunkedPut],
    ['PUT in signed chunks with a trailer', chunkedPutWithTrailer],
    ['a path with other escapes', { ...putObject, url: '/%74est%24file%2etext' }],
    ['parameters in another order', { ...listObjects, url: '/?prefix=J&max-keys=2' }],
    ['an unsigned header that does not change the operation', withHeaders(getRange, { 'user-agent': 'x-amz-y' })],
  ])('%s', async (_name, example) => {
    await expect(verify(example)).resolves.toMatchObject({ identity: 'AKIAIOSFODNN7EXAMPLE' })
  })

  test.each([1, 7, 1000, 100_000])('the chunked body, in packets of %d bytes', async (bytes) => {
    expect(await read(await openExample(chunkedPut, signedBody, bytes))).toBe('a'.repeat(66560))
  })

  test('the chunked body with a trailer', async () => {
    const upload = await openExample(chunkedPutWithTrailer, signedBodyWithTrailer, 4096)
    expect(await read(upload)).toBe('a'.repeat(66560))
    expect(upload.digests().checksums).toEqual({ crc32c: 'sOO8/Q==' })
  })
})

describe('the published examples do not verify when altered', () => {
  test.each([
    ['another method', { ...getRange, method: 'HEAD' }],
    ['another path', { ...getRange, url: '/test.txt/' }],
    ['a further parameter', { ...getRange, url: '/test.txt?x=y' }],
    ['another range', { ...getRange, headers: { ...getRange.headers, range: 'bytes=0-10' } }],
    ['another host', { ...getRange, headers: { ...getRange.headers, host: 'other' } }],
    ['another value of a parameter', { ...listObjects, url: '/?prefix=K&max-keys=2' }],
    ['a longer validity', { ...preSignedGet, url: preSignedGet.url.replace('86400', '86401') }],
  ])('%s', async (_name, example) => {
    await expect(verify(example)).rejects.toMatchObject({ code: 'SignatureDoesNotMatch', status: 403 })
  })

  test('a missing signed header', async () => {
    const { range: _range, ...headers } = getRange.headers
    await expect(verify({ ...getRange, headers })).rejects.toMatchObject({
      code: 'SignatureDoesNotMatch',
      message: expect.stringContaining('range'),
    })
  })

  test.each([
    ['an unknown key', withKey('AKID'), 'InvalidAccessKeyId'],
    ['a session token', withHeaders(getRange, { 'x-amz-security-token': 'x' }), 'InvalidToken'],
    ['a session token in the query', { ...getRange, url: '/test.txt?X-Amz-Security-Token=x' }, 'InvalidToken'],
    ['two signatures', { ...getRange, url: preSignedGet.url }, 'InvalidArgument'],
    ['the algorithm of a second signature', { ...getRange, url: '/?X-Amz-Algorithm=x' }, 'InvalidArgument'],
    ['a second signature without algorithm', { ...getRange, url: '/?X-Amz-Signature=x' }, 'InvalidArgument'],
    [
      'a signature in the query without algorithm',
      anonymous('/?X-Amz-Signature=x'),
      'AuthorizationQueryParametersError',
    ],
    ['no signature', anonymous('/test.txt'), 'AccessDenied'],
    ['Signature V2', anonymous('/test.txt?AWSAccessKeyId=AKID&Signature=x'), 'InvalidRequest'],
  ])('%s', async (_name, example, code) => {
    await expect(verify(example)).rejects.toMatchObject({ code })
  })

  // s3cmd reads the region from the answer and tries again.
  test('another region, and the answer names the right one', async () => {
    const authorization = getRange.headers.authorization?.replace('us-east-1', 'eu-west-1') ?? ''
    await expect(verify(withHeaders(getRange, { authorization }))).rejects.toMatchObject({
      code: 'AuthorizationHeaderMalformed',
      message: expect.stringContaining("'us-east-1'"),
      fields: { Region: 'us-east-1' },
    })
  })

  test('unsigned headers that could change the operation, and the answer names them', async () => {
    const more = { 'x-amz-acl': 'public-read', 'x-amz-copy-source': '/other/file' }
    await expect(verify(withHeaders(getRange, more))).rejects.toMatchObject({
      code: 'AccessDenied',
      fields: { HeadersNotSigned: 'x-amz-acl, x-amz-copy-source' },
    })
  })

  test.each([
    ['a byte of the first chunk', signedBody.replace('aaa', 'aba'), 'SignatureDoesNotMatch'],
    ['a missing chunk', signedBody.replace(/400;.*\r\na+\r\n/, ''), 'SignatureDoesNotMatch'],
    ['a missing last chunk', signedBody.replace(/0;chunk-signature=b6.*\r\n\r\n/, ''), 'IncompleteBody'],
    ['the signature of the last chunk', signedBody.replace('b6c6', 'b6c7'), 'SignatureDoesNotMatch'],
    ['a chunk without a signature', signedBody.replace(/;chunk-signature=ad80[0-9a-f]+/, ''), 'SignatureDoesNotMatch'],
    ['bytes after the last chunk', `${signedBody}more`, 'InvalidRequest'],
    ['a size that is not a number', signedBody.replace('10000;', '-1;'), 'InvalidRequest'],
    ['a line that never ends', 'a'.repeat(70_000), 'InvalidRequest'],
  ])('%s', async (_name, body, code) => {
    await expect(read(await openExample(chunkedPut, body, 1000))).rejects.toMatchObject({ code })
  })

  test.each([
    ['another checksum', signedBodyWithTrailer.replace('sOO8', 'sOO9'), 'SignatureDoesNotMatch'],
    [
      'no signature of the trailer',
      signedBodyWithTrailer.replace(/x-amz-trailer-signature.*\r\n/, ''),
      'SignatureDoesNotMatch',
    ],
    ['a line that is not a header', signedBodyWithTrailer.replace('crc32c:', 'crc32c '), 'MalformedTrailerError'],
  ])('%s in the trailer', async (_name, body, code) => {
    await expect(read(await openExample(chunkedPutWithTrailer, body, 1000))).rejects.toMatchObject({ code })
  })
})

describe('time', () => {
  test.each([
    ['2013-05-24T00:15:00Z', getRange],
    ['2013-05-23T23:45:00Z', getRange],
    ['2013-05-25T00:00:00Z', preSignedGet],
  ])('a signature is still valid at %s', async (now, example) => {
    await expect(verify(example, now)).resolves.toBeDefined()
  })

  test.each([
    ['2013-05-24T00:15:01Z', getRange, 'RequestTimeTooSkewed', 'too large'],
    ['2013-05-23T23:44:59Z', getRange, 'RequestTimeTooSkewed', 'too large'],
    ['2013-05-25T00:00:01Z', preSignedGet, 'AccessDenied', 'Request has expired'],
    ['2013-05-23T23:44:59Z', preSignedGet, 'RequestTimeTooSkewed', 'too large'],
  ])('a signature is not valid at %s', async (now, example, code, message) => {
    await expect(verify(example, now)).rejects.toMatchObject({
      status: 403,
      code,
      message: expect.stringContaining(message),
      fields: { ServerTime: new Date(now).toISOString() },
    })
  })
})
