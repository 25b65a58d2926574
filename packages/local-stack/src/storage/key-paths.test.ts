import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fileNameOf, keyOf } from './key-paths.ts'

const legalKey = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 256 }),
    fc.string({ unit: fc.constantFrom('.', '/', '\\', '%', '~', 'a', 'A', ':', '*'), minLength: 1, maxLength: 1024 }),
  )
  .filter((key) => Buffer.byteLength(key) <= 1024)

describe('the file name of a key', () => {
  test('is one path segment of harmless characters and at most 255 bytes for every key', () => {
    fc.assert(
      fc.property(legalKey, (key) => {
        expect(fileNameOf(key)).toMatch(/^[a-z0-9._%~-]{1,240}\.object$/)
      }),
    )
  })

  test('is decoded to the key, unless only the file has the key', () => {
    fc.assert(
      fc.property(legalKey, (key) => {
        const found = keyOf(fileNameOf(key))
        expect(found === 'in-file' || found?.key === key).toBe(true)
      }),
    )
  })

  test('differs for any two keys, even if letters differ only in case', () => {
    fc.assert(
      fc.property(legalKey, legalKey, (left, right) => {
        fc.pre(left !== right)
        expect(fileNameOf(left).toLowerCase()).not.toBe(fileNameOf(right).toLowerCase())
      }),
    )
    expect(fileNameOf('KEY')).not.toBe(fileNameOf('key'))
  })

  test.each([
    ['plain-name_1.csv', 'plain-name_1.csv.object'],
    ['..', '...object'],
    ['../../etc/passwd', '..%2f..%2fetc%2fpasswd.object'],
    ['A', '%41.object'],
    ['ü', '%c3%bc.object'],
    ['u\u0308', 'u%cc%88.object'],
    ['con:', 'con%3a.object'],
  ])('of %s is %s', (key, name) => {
    expect(fileNameOf(key)).toBe(name)
  })

  test('differs for long keys with the same beginning', () => {
    const long = 'x'.repeat(1023)
    expect(fileNameOf(`${long}a`)).not.toBe(fileNameOf(`${long}b`))
    expect(keyOf(fileNameOf(`${long}a`))).toBe('in-file')
  })

  test('is not decoded for files that are not objects', () => {
    expect(keyOf('.DS_Store')).toBeUndefined()
  })
})
