import assert from 'node:assert/strict'
import {
  authenticate,
  canonicalRequest,
  createSigner,
  encodeStrictly,
  parseHeaders,
  parseRange,
  parseRequestTarget,
  readDeclaredBody,
  sha256Hex,
  signRequest,
} from '@sluice/s3-endpoint/testing/readers'
import { s3Refusal } from './s3-bodies.ts'
import { outcomeOf, type Target } from './target.ts'

/**
 * Fuzzes the reader of request targets. An accepted target can be written and read again unchanged. Browsers read the
 * same query from it.
 */
export const requestTarget: Target = {
  name: 's3-request-target',
  dictionary: '/ // .. /../ %2e%2e %2F %00 % %C3%A9 %ff ? & = + %2B uploads'.split(' '),
  seeds: [
    ...['/files/apps/7/people.csv', '/files/a//../%C3%A9%252F?uploads', '/?x-id=ListBuckets'],
    '/files?list-type=2&prefix=a%2Fb+c&delimiter=/',
  ],
  async check(input) {
    const outcome = await outcomeOf(() => parseRequestTarget(input.toString('latin1')), s3Refusal)
    if ('refusal' in outcome) return
    const { rawPath, query, bucket, key } = outcome.value
    assert(Buffer.byteLength(key) <= 1_024 && !`${key}${bucket}`.includes('\0'))
    const written = [...query].map((pair) => pair.map(encodeStrictly).join('=')).join('&')
    if (bucket !== '') {
      const path = key === '' ? bucket : `${bucket}/${encodeStrictly(key)}`
      assert.deepEqual(parseRequestTarget(`/${path}?${written}`), { rawPath: `/${path}`, query, bucket, key })
    }
    // Browsers read a query as UTF-8 text, this server as Latin-1 bytes, so both agree on ASCII only.
    const raw = input.toString('latin1').slice(rawPath.length + 1)
    if (/^[!-~]*$/.test(raw)) assert.deepEqual([...query], [...new URLSearchParams(`&${raw}`)])
  },
}

/**
 * Fuzzes the readers of headers. They refuse headers with an error of S3, or return a valid size of the body and a
 * range within the object.
 */
export const objectHeaders: Target = {
  name: 's3-headers',
  dictionary: [
    ...[
      'content-length: ',
      'content-md5: ',
      'x-amz-decoded-content-length: ',
      'range: bytes=',
      'bytes=-1',
      '0-0',
      '\n',
    ],
    ...['x-amz-trailer: x-amz-checksum-crc32', 'x-amz-checksum-sha256: ', 'x-amz-sdk-checksum-algorithm: '],
    ...['UNSIGNED-PAYLOAD', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD', 'constructor'],
  ],
  seeds: [
    'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER\nx-amz-decoded-content-length: 21\nx-amz-trailer: x-amz-checksum-crc32\nx-amz-sdk-checksum-algorithm: CRC32',
    'UNSIGNED-PAYLOAD\ncontent-length: 0\nif-match: "a"\nx-amz-if-match-size: 5\nx-amz-if-match-last-modified-time: Sun, 01 Nov 2026 12:00:00 GMT',
    'UNSIGNED-PAYLOAD\nhost: s3.test\ncontent-length: 21\ncontent-md5: XrY7u+Ae7tCTyyK7j1rNww==\nif-none-match: *',
    'UNSIGNED-PAYLOAD\nrange: bytes=5-99\nif-match: "a", W/"b"\nx-amz-copy-source-if-modified-since: Sun, 01 Nov 2026 12:00:00 GMT',
  ],
  async check(input, random) {
    const [payloadHash = '', ...lines] = input.toString('latin1').split('\n')
    const headers = await outcomeOf(() => parseHeaders(lines.flatMap(headerOf)), s3Refusal)
    if ('refusal' in headers) return
    const claims = await outcomeOf(() => readDeclaredBody(headers.value, payloadHash), s3Refusal)
    if ('value' in claims) assert(Number.isSafeInteger(claims.value.size) && claims.value.size >= 0)
    const size = random(1_000)
    const range = parseRange(headers.value.get('range'), size)
    if (typeof range === 'object') assert(0 <= range.start && range.start <= range.end && range.end < size)
  },
}

function headerOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon === -1 ? line.length : colon), colon === -1 ? '' : line.slice(colon + 1)]
}

const now = new Date('2026-11-01T12:00:00Z')
const timestamp = '20261101T120000Z'
const accessKeyId = 'SLC7K0123456789ABCDEF'
const secretAccessKey = 'secret'
const region = 'us-east-1'
const scope = `${accessKeyId}/20261101/${region}/s3/aws4_request`
const signer = createSigner(secretAccessKey, { accessKeyId, date: '20261101', region }, timestamp)

/** A request as a text: the request line, then the headers. */
function readRequest(text: string) {
  const [line = '', ...lines] = text.split('\n')
  const space = line.indexOf(' ')
  const target = parseRequestTarget(line.slice(space + 1))
  return { method: line.slice(0, space), ...target, headers: parseHeaders(lines.flatMap(headerOf)) }
}

function withHeaderSignature(method: string, target: string, more: string[]): string {
  const headers = ['host: s3.test', ...more, `x-amz-content-sha256: ${sha256Hex('')}`, `x-amz-date: ${timestamp}`]
  const text = [`${method} ${target}`, ...headers].join('\n')
  const signedHeaders = headers.map((header) => header.split(':')[0] ?? '').sort()
  const canonical = canonicalRequest({ ...readRequest(text), signedHeaders, payloadHash: sha256Hex('') })
  const names = signedHeaders.join(';')
  const signature = signRequest(signer, canonical)
  return `${text}\nauthorization: AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=${names}, Signature=${signature}`
}

function withQuerySignature(method: string, path: string): string {
  const credential = encodeURIComponent(scope)
  const query = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${credential}&X-Amz-Date=${timestamp}&X-Amz-Expires=300&X-Amz-SignedHeaders=host`
  const text = `${method} ${path}?${query}\nhost: s3.test`
  const parts = { ...readRequest(text), signedHeaders: ['host'], payloadHash: 'UNSIGNED-PAYLOAD' }
  return text.replace('\n', `&X-Amz-Signature=${signRequest(signer, canonicalRequest(parts))}\n`)
}

const signedRequests = [
  withHeaderSignature('PUT', '/files/apps/7/people.csv', ['content-type: text/csv']),
  withHeaderSignature('GET', '/files?list-type=2&prefix=apps%2F7%2F&max-keys=5', []),
  withHeaderSignature('PUT', '/files/a%20b/..%2Fc?partNumber=1&uploadId=x%2By', ['x-amz-meta-a: b  c']),
  withQuerySignature('PUT', '/files/apps/7/people.csv'),
]
const meanings = new Set(signedRequests.map(meaningOf))

/** Returns everything that a request's sender signed, as the operation reads it, in one comparable text. */
function meaningOf(text: string): string {
  const { method, bucket, key, query, headers } = readRequest(text)
  const signed = [...headers].filter(([name]) => name === 'host' || name.startsWith('x-amz-'))
  const parameters = [...query].filter(([name]) => name !== 'X-Amz-Signature')
  return JSON.stringify([method, bucket, key, parameters.sort(), signed.map(withSingleSpaces).sort()])
}

/** Senders sign values with runs of spaces as single spaces. */
function withSingleSpaces([name, value]: [string, string]): string {
  return `${name}:${value.trim().replace(/ +/g, ' ')}`
}

/** Fuzzes the check of signatures. A changed request is refused, or means the same as a request that was signed. */
export const signatures: Target = {
  name: 's3-signatures',
  dictionary: [
    ...'Credential= SignedHeaders= Signature= , ; / %2F + %20 & = X-Amz-Signature= X-Amz-Expires= X-Amz-Date='.split(
      ' ',
    ),
    ...['AWS4-HMAC-SHA256 ', ' ', 'X-Amz-Security-Token=', '\nhost: ', '\nx-amz-acl: public', '\nx-amz-date: '],
    ...['\ndate: ', 'UNSIGNED-PAYLOAD', '//', '/./', '/../', '%2e', 'host', '\t'],
  ],
  seeds: signedRequests,
  async check(input) {
    const text = input.toString('latin1')
    const outcome = await outcomeOf(async () => {
      const request = readRequest(text)
      const findCredentials = async (id: string) =>
        id === accessKeyId ? { secretAccessKey, identity: accessKeyId } : undefined
      return await authenticate(request, { findCredentials, region, now })
    }, s3Refusal)
    if ('value' in outcome) assert(meanings.has(meaningOf(text)), 'a request is accepted that nobody signed')
  },
}
