import { describe, expect, test } from 'vitest'
import { readHeaderSignature } from './header-auth.ts'
import { readQuerySignature, signatureParameters } from './query-auth.ts'
import type { DeclaredSignature } from './signing-key.ts'

const credentialScope = 'AKID/20250102/eu-west-1/s3/aws4_request'
const signatureHex = 'a'.repeat(64)
const validHeaders = { 'x-amz-date': '20250102T030405Z', 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }
const validAuthorization = `AWS4-HMAC-SHA256 Credential=${credentialScope}, SignedHeaders=host;x-amz-date, Signature=${signatureHex}`
const validQuery = {
  'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
  'X-Amz-Credential': credentialScope,
  'X-Amz-Date': '20250102T030405Z',
  'X-Amz-Expires': '300',
  'X-Amz-SignedHeaders': 'host',
  'X-Amz-Signature': signatureHex,
}

function readHeader(authorization: string, headers: Record<string, string> = validHeaders): DeclaredSignature {
  return readHeaderSignature(authorization, new Map(Object.entries(headers)))
}

/** Matches an error with this code, whose message names what is wrong. */
function refusal(code: string, name: string): unknown {
  return expect.objectContaining({ code, message: expect.stringContaining(name) })
}

describe('a signature in the Authorization header', () => {
  test('is read with or without spaces between its parts', () => {
    const declared = readHeader(validAuthorization)
    expect(declared).toEqual({
      scope: { accessKeyId: 'AKID', date: '20250102', region: 'eu-west-1' },
      timestamp: '20250102T030405Z',
      signedAt: Date.UTC(2025, 0, 2, 3, 4, 5),
      validForS: undefined,
      signedHeaders: ['host', 'x-amz-date'],
      signature: signatureHex,
      payloadHash: 'UNSIGNED-PAYLOAD',
    })
    expect(readHeader(validAuthorization.replaceAll(', ', ','))).toEqual(declared)
  })

  test('may be dated by the Date header', () => {
    const { 'x-amz-date': _date, ...rest } = validHeaders
    const headers = { ...rest, date: 'Thu, 02 Jan 2025 03:04:05 GMT' }
    expect(readHeader(validAuthorization, headers).timestamp).toBe('20250102T030405Z')
  })

  test.each([
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['the scheme of Signature V2', 'AWS AKID:signature'],
  ])('is refused with %s', (_name, authorization) => {
    expect(() => readHeader(authorization)).toThrow(refusal('InvalidRequest', 'AWS4-HMAC-SHA256'))
  })

  test.each([
    ['no credential', validAuthorization.replace('Credential', 'Kredential'), 'Credential'],
    ['another service', validAuthorization.replace('/s3/', '/sqs/'), 'Credential'],
    ['another last part of the scope', validAuthorization.replace('aws4_request', 'aws5'), 'Credential'],
    ['more before the scope', validAuthorization.replace('AKID/', 'AKID/AKID/'), 'Credential'],
    ['more after the scope', validAuthorization.replace('aws4_request', 'aws4_request/s3'), 'Credential'],
    ['the date of another day', validAuthorization.replace('20250102', '20250103'), 'date'],
    ['no signed headers', validAuthorization.replace('SignedHeaders', 'Headers'), 'SignedHeaders'],
    ['host not signed', validAuthorization.replace('host;', ''), 'SignedHeaders'],
    ['headers not sorted', validAuthorization.replace('host;x-amz-date', 'x-amz-date;host'), 'SignedHeaders'],
    ['a header twice', validAuthorization.replace('host;', 'host;host;'), 'SignedHeaders'],
    ['a header in upper case', validAuthorization.replace('host;', 'HOST;host;'), 'SignedHeaders'],
    ['a header that begins in upper case', validAuthorization.replace('host;', 'Accept;host;'), 'SignedHeaders'],
    ['a header that ends in upper case', validAuthorization.replace('host;', 'accepT;host;'), 'SignedHeaders'],
    ['no signature', validAuthorization.replace(' Signature', ' Sig'), 'Signature'],
    ['a short signature', validAuthorization.slice(0, -1), 'Signature'],
    ['a long signature', `${validAuthorization}0`, 'Signature'],
    ['more before the signature', validAuthorization.replace('Signature=', 'Signature=0'), 'Signature'],
    ['an equals sign in the signature', validAuthorization.replace('aaaa', 'aa=aa'), 'Signature'],
    ['two signatures', `${validAuthorization}, Signature=${signatureHex}`, 'twice'],
    ['an empty part', `${validAuthorization}, `, 'empty'],
  ])('is refused with %s', (_name, authorization, reason) => {
    expect(() => readHeader(authorization)).toThrow(refusal('AuthorizationHeaderMalformed', reason))
  })

  test('is refused without a date, with a broken date, and without a hash of the body', () => {
    const { 'x-amz-date': _date, ...undated } = validHeaders
    const broken = { ...validHeaders, 'x-amz-date': '2025-01-02' }
    expect(() => readHeader(validAuthorization, undated)).toThrow(refusal('AccessDenied', 'x-amz-date'))
    expect(() => readHeader(validAuthorization, broken)).toThrow(refusal('AccessDenied', 'x-amz-date'))
    const { 'x-amz-content-sha256': _hash, ...withoutHash } = validHeaders
    expect(() => readHeader(validAuthorization, withoutHash)).toThrow(refusal('InvalidRequest', 'x-amz-content-sha256'))
  })
})

describe('a signature in the query', () => {
  const read = (query: Record<string, string>, headers: Record<string, string> = {}) => {
    return readQuerySignature(new Map(Object.entries(query)), new Map(Object.entries(headers)))
  }

  test('is read, with the body unsigned', () => {
    expect(read(validQuery)).toMatchObject({ validForS: 300, signedHeaders: ['host'], payloadHash: 'UNSIGNED-PAYLOAD' })
  })

  test('covers the body whose hash is in a header, or else in the query', () => {
    const query = { ...validQuery, 'X-Amz-Content-Sha256': 'in the query' }
    expect(read(query).payloadHash).toBe('in the query')
    expect(read(query, { 'x-amz-content-sha256': 'in a header' }).payloadHash).toBe('in a header')
  })

  test.each([
    ['X-Amz-Algorithm', 'AWS4-HMAC-SHA1'],
    ['X-Amz-Credential', 'AKID'],
    ['X-Amz-Credential', credentialScope.replace('20250102', '20250103')],
    ['X-Amz-Credential', `AKID/${credentialScope}`],
    ['X-Amz-Date', '20251302T030405Z'],
    ['X-Amz-Date', '20250102T250000Z'],
    ['X-Amz-Date', '20250102T030405Z0'],
    ['X-Amz-Date', '20250102T000000Z20250102T030405Z'],
    ['X-Amz-Date', ''],
    ['X-Amz-Expires', '0'],
    ['X-Amz-Expires', '604801'],
    ['X-Amz-Expires', '-1'],
    ['X-Amz-Expires', '1e3'],
    ['X-Amz-Expires', ''],
    ['X-Amz-SignedHeaders', ''],
    ['X-Amz-SignedHeaders', 'content-type'],
    ['X-Amz-Signature', 'A'.repeat(64)],
    ['X-Amz-Signature', `${signatureHex}0`],
    ['X-Amz-Signature', `0${signatureHex}`],
  ])('is refused with %s=%s', (name, value) => {
    const refused = refusal('AuthorizationQueryParametersError', name)
    expect(() => read({ ...validQuery, [name]: value })).toThrow(refused)
  })

  test('has no parameter of an operation', () => {
    for (const name of [...Object.keys(validQuery), 'X-Amz-Content-Sha256']) {
      expect(signatureParameters.has(name), name).toBe(true)
    }
    expect(signatureParameters.has('prefix')).toBe(false)
  })

  test('is valid for one second to seven days', () => {
    expect(read({ ...validQuery, 'X-Amz-Expires': '1' }).validForS).toBe(1)
    expect(read({ ...validQuery, 'X-Amz-Expires': '604800' }).validForS).toBe(604_800)
  })
})
