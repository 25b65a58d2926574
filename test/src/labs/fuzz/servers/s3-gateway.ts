import { createHash } from 'node:crypto'
import {
  canonicalRequest,
  createSigner,
  parseRequestTarget,
  sha256Hex,
  sign,
  signRequest,
} from '@sluice/s3-endpoint/testing/readers'
import { type BucketOwner, stackBucket } from '../../../s3-gateway/bucket-owner.ts'
import { bytesOf, exchange, type FuzzedServer, type FuzzRequest } from './request.ts'

const region = 'us-east-1'
const file = Buffer.from('user_id,age\nu1,34\n')

/** Opens the S3 gateway. Its requests are signed after they were mutated, so that they get past the signature. */
export function fuzzedGateway(owner: BucketOwner): FuzzedServer {
  const own = `/${stackBucket}/${owner.path}`
  return {
    name: 's3-gateway',
    url: owner.gateway,
    dictionary: [
      ...'<Delete> </Delete> <Object><Key> </Key></Object> &#0; &amp; <!DOCTYPE <![CDATA[ /> < uploads uploadId='.split(
        ' ',
      ),
      ...'partNumber=0 list-type=2 prefix= X-Amz-Signature= versionId= acl tagging'.split(' '),
      ...['x-amz-copy-source: ', 'x-amz-checksum-crc32: ', 'x-amz-trailer: ', 'UNSIGNED-PAYLOAD', 'if-none-match: *'],
      ...['AWS4-HMAC-SHA256 ', 'Credential=', 'SignedHeaders=', ';chunk-signature=', '0\r\n', own, 'STREAMING-'],
    ],
    async validRequests() {
      const uploadId = await beginUpload(own, owner)
      const ofUpload = multipartRequests(own, uploadId)
      return [...objectRequests(own), ...ofUpload, ...listings(owner.path), deletion(owner.path)]
    },
    sign: (request) => signed(request, owner),
  }
}

const withMd5 = (body: Buffer) => ({ 'content-md5': createHash('md5').update(body).digest('base64') })

function objectRequests(own: string): FuzzRequest[] {
  const put = (name: string, headers: Record<string, string>, body = file): FuzzRequest => ({
    method: 'PUT',
    target: `${own}${name}`,
    headers: { 'content-type': 'text/csv', ...headers },
    body,
  })
  const decoded = { 'content-encoding': 'aws-chunked', 'x-amz-decoded-content-length': String(file.length) }
  const unsigned = Buffer.from(`${file.length.toString(16)}\r\n${file}\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n`)
  const trailer = {
    'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
    'x-amz-trailer': 'x-amz-checksum-crc32',
  }
  return [
    put('people.csv', withMd5(file)),
    put('plain.csv', { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }),
    put('chunked.csv', { ...decoded, ...trailer }, unsigned),
    put('signed.csv', { ...decoded, 'x-amz-content-sha256': streaming }),
    put('copy.csv', { 'x-amz-copy-source': `${own}people.csv` }, Buffer.alloc(0)),
    { method: 'GET', target: `${own}people.csv`, headers: { range: 'bytes=0-5' }, body: Buffer.alloc(0) },
    { method: 'HEAD', target: `${own}people.csv`, headers: { 'if-match': '"x"' }, body: Buffer.alloc(0) },
    { method: 'DELETE', target: `${own}people.csv`, headers: { accept: '*/*' }, body: Buffer.alloc(0) },
    { method: 'OPTIONS', target: `${own}people.csv`, headers: { origin: 'https://a.test' }, body: Buffer.alloc(0) },
  ]
}

/** Begins a multipart upload. Returns the upload's ID, or `none` if the gateway refuses the request. */
async function beginUpload(own: string, owner: BucketOwner): Promise<string> {
  const request = {
    method: 'POST',
    target: `${own}large.csv?uploads`,
    headers: { accept: '*/*' },
    body: Buffer.alloc(0),
  }
  const { answer } = await exchange(owner.gateway, bytesOf(signed(request, owner), new URL(owner.gateway).host))
  return /<UploadId>([^<]+)/.exec(answer)?.[1] ?? 'none'
}

function multipartRequests(own: string, uploadId: string): FuzzRequest[] {
  const parts =
    '<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>"5eb63bbbe01eeed093cb22bb8f5acdc3"</ETag></Part></CompleteMultipartUpload>'
  const send = (method: string, query: string, body = ''): FuzzRequest => ({
    method,
    target: `${own}large.csv?${query}`,
    headers: { 'content-type': 'text/csv' },
    body: Buffer.from(body),
  })
  return [
    send('POST', 'uploads'),
    send('PUT', `partNumber=1&uploadId=${uploadId}`, file.toString()),
    send('POST', `uploadId=${uploadId}`, parts),
    send('DELETE', `uploadId=${uploadId}`),
    send('GET', `uploadId=${uploadId}&max-parts=2`),
  ]
}

function listings(path: string): FuzzRequest[] {
  const prefix = encodeURIComponent(path)
  const queries = [
    `?list-type=2&prefix=${prefix}&max-keys=5&delimiter=%2F`,
    `?prefix=${prefix}&marker=a&encoding-type=url`,
    `?list-type=2&prefix=${prefix}&continuation-token=YQ`,
    `?uploads&prefix=${prefix}&key-marker=a&upload-id-marker=b`,
    '?location',
  ]
  return [...queries.map((query) => `/${stackBucket}${query}`), '/'].map((target) => {
    return { method: 'GET', target, headers: { accept: '*/*' }, body: Buffer.alloc(0) }
  })
}

function deletion(path: string): FuzzRequest {
  const keys = ['people.csv', 'a&amp;b'].map((name) => `<Object><Key>${path}${name}</Key></Object>`)
  const body = Buffer.from(`<?xml version="1.0"?><Delete><Quiet>true</Quiet>${keys.join('')}</Delete>`)
  return { method: 'POST', target: `/${stackBucket}?delete`, headers: { 'content-type': 'text/xml' }, body }
}

const streaming = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'

/** Signs a request as it is. A body in signed chunks is framed and signed too. */
function signed(request: FuzzRequest, { gateway, accessKeyId, secretAccessKey }: BucketOwner): FuzzRequest {
  const timestamp = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '')
  const scope = { accessKeyId, date: timestamp.slice(0, 8), region }
  const signer = createSigner(secretAccessKey, scope, timestamp)
  const payloadHash = request.headers['x-amz-content-sha256'] ?? sha256Hex(request.body)
  const isDeletion = request.target.includes('delete')
  const headers = {
    ...request.headers,
    ...(isDeletion && withMd5(request.body)),
    'x-amz-date': timestamp,
    'x-amz-content-sha256': payloadHash,
  }
  const covered = new Map([...Object.entries(headers), ['host', new URL(gateway).host] as const])
  const signedHeaders = [...covered.keys()].sort()
  const { rawPath, query } = pathAndQuery(request.target)
  const { method } = request
  const signature = signRequest(
    signer,
    canonicalRequest({ method, rawPath, query, headers: covered, signedHeaders, payloadHash }),
  )
  const credential = `${accessKeyId}/${scope.date}/${region}/s3/aws4_request`
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${signedHeaders.join(';')}, Signature=${signature}`
  const body = payloadHash === streaming ? inSignedChunks(request.body, signer, signature) : request.body
  return { ...request, headers: { ...headers, authorization }, body }
}

/** Returns what a signature covers of a target. A target that cannot be read is refused before its signature. */
function pathAndQuery(target: string): { rawPath: string; query: ReadonlyMap<string, string> } {
  try {
    return parseRequestTarget(target)
  } catch {
    return { rawPath: target, query: new Map() }
  }
}

function inSignedChunks(body: Buffer, signer: Parameters<typeof sign>[0], seed: string): Buffer {
  let previous = seed
  const chunks = [body.subarray(0, 9), body.subarray(9), Buffer.alloc(0)].filter(
    ({ length }, index) => length > 0 || index === 2,
  )
  return Buffer.concat(
    chunks.map((data) => {
      previous = sign(signer, `AWS4-HMAC-SHA256-PAYLOAD`, [previous, sha256Hex(''), sha256Hex(data)])
      const head = Buffer.from(`${data.length.toString(16)};chunk-signature=${previous}\r\n`)
      return Buffer.concat([head, data, Buffer.from('\r\n')])
    }),
  )
}
