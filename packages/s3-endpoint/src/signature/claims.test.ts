import { describe, expect, test } from 'vitest'
import { readHeaderClaim } from './header-auth.ts'
import { readQueryClaim } from './query-auth.ts'

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

function headerCode(authorization: string, headers: Record<string, string> = validHeaders): string {
  return codeOf(() => readHeaderClaim(authorization, new Map(Object.entries(headers))))
}

function codeOf(work: () => unknown): string {
  try {
    work()
    return 'accepted'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'another error'
  }
}

describe('a signature in the Authorization header', () => {
  test('is read with or without spaces between its parts', () => {
    const claim = readHeaderClaim(validAuthorization, new Map(Object.entries(validHeaders)))
    expect(claim).toEqual({
      scope: { accessKeyId: 'AKID', date: '20250102', region: 'eu-west-1' },
      timestamp: '20250102T030405Z',
      signedAt: Date.UTC(2025, 0, 2, 3, 4, 5),
      validForS: undefined,
      signedHeaders: ['host', 'x-amz-date'],
      signature: signatureHex,
      payloadHash: 'UNSIGNED-PAYLOAD',
    })
    expect(readHeaderClaim(validAuthorization.replaceAll(', ', ','), new Map(Object.entries(validHeaders)))).toEqual(
      claim,
    )
  })

  test('may be dated by the Date header', () => {
    const { 'x-amz-date': _date, ...rest } = validHeaders
    const headers = new Map(Object.entries({ ...rest, date: 'Thu, 02 Jan 2025 03:04:05 GMT' }))
    expect(readHeaderClaim(validAuthorization, headers).timestamp).toBe('20250102T030405Z')
  })

  test.each([
    ['another scheme', 'Basic dXNlcjpwYXNz', 'InvalidRequest'],
    ['the scheme of Signature V2', 'AWS AKID:signature', 'InvalidRequest'],
    ['no credential', validAuthorization.replace('Credential', 'Kredential'), 'AuthorizationHeaderMalformed'],
    ['another service', validAuthorization.replace('/s3/', '/sqs/'), 'AuthorizationHeaderMalformed'],
    [
      'another last part of the scope',
      validAuthorization.replace('aws4_request', 'aws5'),
      'AuthorizationHeaderMalformed',
    ],
    ['the date of another day', validAuthorization.replace('20250102', '20250103'), 'AuthorizationHeaderMalformed'],
    ['host not signed', validAuthorization.replace('host;', ''), 'AuthorizationHeaderMalformed'],
    [
      'headers not sorted',
      validAuthorization.replace('host;x-amz-date', 'x-amz-date;host'),
      'AuthorizationHeaderMalformed',
    ],
    ['a header twice', validAuthorization.replace('host;', 'host;host;'), 'AuthorizationHeaderMalformed'],
    ['a header in upper case', validAuthorization.replace('host;', 'HOST;host;'), 'AuthorizationHeaderMalformed'],
    ['a short signature', validAuthorization.slice(0, -1), 'AuthorizationHeaderMalformed'],
    ['two signatures', `${validAuthorization}, Signature=${signatureHex}`, 'AuthorizationHeaderMalformed'],
  ])('is refused with %s', (_name, authorization, code) => {
    expect(headerCode(authorization)).toBe(code)
  })

  test('is refused without a date, with a broken date, and without a hash of the body', () => {
    const { 'x-amz-date': _date, ...undated } = validHeaders
    expect(headerCode(validAuthorization, undated)).toBe('AccessDenied')
    expect(headerCode(validAuthorization, { ...validHeaders, 'x-amz-date': '2025-01-02' })).toBe('AccessDenied')
    expect(headerCode(validAuthorization, { 'x-amz-date': validHeaders['x-amz-date'] })).toBe('InvalidRequest')
  })
})

describe('a signature in the query', () => {
  const read = (query: Record<string, string>) => readQueryClaim(new Map(Object.entries(query)), new Map())

  test('is read, with the body unsigned', () => {
    expect(read(validQuery)).toMatchObject({ validForS: 300, signedHeaders: ['host'], payloadHash: 'UNSIGNED-PAYLOAD' })
  })

  test.each([
    ['X-Amz-Algorithm', 'AWS4-HMAC-SHA1'],
    ['X-Amz-Credential', 'AKID'],
    ['X-Amz-Credential', credentialScope.replace('20250102', '20250103')],
    ['X-Amz-Date', '20251302T030405Z'],
    ['X-Amz-Date', ''],
    ['X-Amz-Expires', '0'],
    ['X-Amz-Expires', '604801'],
    ['X-Amz-Expires', '-1'],
    ['X-Amz-Expires', '1e3'],
    ['X-Amz-Expires', ''],
    ['X-Amz-SignedHeaders', ''],
    ['X-Amz-SignedHeaders', 'content-type'],
    ['X-Amz-Signature', 'A'.repeat(64)],
  ])('is refused with %s=%s', (name, value) => {
    expect(codeOf(() => read({ ...validQuery, [name]: value }))).toBe('AuthorizationQueryParametersError')
  })

  test('is valid for at most seven days', () => {
    expect(read({ ...validQuery, 'X-Amz-Expires': '604800' }).validForS).toBe(604_800)
  })
})
