import { describe, expect, test } from 'vitest'
import { readDeclaredBody } from './declared.ts'

const lengthHeader: [string, string] = ['content-length', '5']

function read(headers: [string, string][], payloadHash = 'UNSIGNED-PAYLOAD') {
  return readDeclaredBody(new Map(headers), payloadHash)
}

describe('the description of a body in the headers', () => {
  test('has the size without the framing, and the digests', () => {
    expect(read([['x-amz-decoded-content-length', '3'], lengthHeader], 'STREAMING-UNSIGNED-PAYLOAD-TRAILER').size).toBe(
      3,
    )
    expect(read([lengthHeader, ['content-md5', 'XUFAKrxLKna5cZ2REBfFkg==']])).toMatchObject({
      size: 5,
      contentMd5: 'XUFAKrxLKna5cZ2REBfFkg==',
    })
    expect(read([lengthHeader], 'a'.repeat(64)).form.sha256).toBe('a'.repeat(64))
  })

  test.each<[string, [string, string][], string]>([
    ['no length', [], 'MissingContentLength'],
    ['a negative length', [['content-length', '-1']], 'MissingContentLength'],
    ['a length over 5 GiB', [['content-length', String(5 * 1024 ** 3 + 1)]], 'EntityTooLarge'],
    ['a Content-MD5 that is not an MD5', [lengthHeader, ['content-md5', 'x']], 'InvalidDigest'],
    ['a Content-MD5 in hex', [lengthHeader, ['content-md5', '5d41402abc4b2a76b9719d911017c592']], 'InvalidDigest'],
    ['a checksum of the wrong length', [lengthHeader, ['x-amz-checksum-crc32', 'AAAA']], 'InvalidRequest'],
    [
      'two checksums',
      [lengthHeader, ['x-amz-checksum-crc32', 'AAAAAA=='], ['x-amz-checksum-crc32c', 'AAAAAA==']],
      'InvalidRequest',
    ],
    ['a trailer in a form without one', [lengthHeader, ['x-amz-trailer', 'x-amz-checksum-crc32']], 'InvalidRequest'],
  ])('is refused with %s', (_name, headers, code) => {
    expect(() => read(headers)).toThrow(expect.objectContaining({ code }))
  })

  test.each(['', 'constructor', 'A'.repeat(64), 'STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD'])(
    'is refused with x-amz-content-sha256 "%s"',
    (hash) => {
      expect(() => read([lengthHeader], hash)).toThrow(expect.objectContaining({ code: 'InvalidArgument' }))
    },
  )

  test('is refused with a trailer that is not a checksum', () => {
    const headers: [string, string][] = [
      ['x-amz-decoded-content-length', '3'],
      ['x-amz-trailer', 'x-amz-meta-a'],
    ]
    expect(() => read(headers, 'STREAMING-UNSIGNED-PAYLOAD-TRAILER')).toThrow(/not supported/)
  })
})
