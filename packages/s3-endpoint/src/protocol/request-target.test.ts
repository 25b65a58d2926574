import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseRequestTarget } from './request-target.ts'

describe('a request target', () => {
  test.each([
    ['/', '', ''],
    ['/bucket', 'bucket', ''],
    ['/bucket/', 'bucket', ''],
    ['/bucket/key', 'bucket', 'key'],
    ['/bucket//key', 'bucket', '/key'],
    ['/bucket/a/../../key', 'bucket', 'a/../../key'],
    ['/bucket/%2e%2e%2fkey', 'bucket', '../key'],
    ['/bucket/%252e', 'bucket', '%2e'],
    ['/bucket/%C3%BC+%20', 'bucket', 'ü+ '],
    ['/bucket/\u00c3\u00bc', 'bucket', 'ü'],
  ])('%s names bucket "%s" and key "%s"', (url, bucket, key) => {
    expect(parseRequestTarget(url)).toMatchObject({ bucket, key })
  })

  test('has a query of decoded names and values', () => {
    expect([...parseRequestTarget('/b%62b?a=%2B+x&uploads&b=1=2&&').query]).toEqual([
      ['a', '+ x'],
      ['uploads', ''],
      ['b', '1=2'],
    ])
  })

  test.each([
    ['http://host/bucket/key', 'InvalidURI'],
    ['*', 'InvalidURI'],
    ['/bucket/%', 'InvalidURI'],
    ['/bucket/%zz', 'InvalidURI'],
    ['/bucket/%ff', 'InvalidURI'],
    ['/bucket/%ed%a0%80', 'InvalidURI'],
    ['/bucket/%c0%af', 'InvalidURI'],
    ['/bucket/a%00b', 'InvalidArgument'],
    [`/bucket/${'%C3%BC'.repeat(513)}`, 'KeyTooLongError'],
    ['/bucket/key?a=1&a=2', 'InvalidArgument'],
    ['//key', 'InvalidBucketName'],
    ['/../key', 'InvalidBucketName'],
    ['/bu%2fcket/key', 'InvalidBucketName'],
    ['/Bucket/key', 'InvalidBucketName'],
    ['/ab/key', 'InvalidBucketName'],
    ['/a..b/key', 'InvalidBucketName'],
    [`/${'a'.repeat(64)}/key`, 'InvalidBucketName'],
  ])('%s is refused', (url, code) => {
    expect(() => parseRequestTarget(url)).toThrow(expect.objectContaining({ code }))
  })

  test('is decoded to the original key for every legal key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }), (key) => {
        fc.pre(!key.includes('\0') && Buffer.byteLength(key) <= 1024)
        expect(parseRequestTarget(`/bucket/${encodeURIComponent(key)}`).key).toBe(key)
      }),
    )
  })
})
