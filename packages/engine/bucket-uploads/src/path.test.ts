import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fileNameProblem, fileSizeProblem, hasDotSegment, parseKey, pathOf } from './path.ts'

// service.md, Endpoints 4.
describe('a key', () => {
  test.each([
    ['uploads/7/people.csv', { appId: 7, fileName: 'people.csv' }],
    ['uploads/7/', { appId: 7, fileName: '' }],
    ['uploads/7/../8/people.csv', { appId: 7, fileName: '../8/people.csv' }],
    ['uploads/7/a\nb', { appId: 7, fileName: 'a\nb' }],
    ['uploads/7', undefined],
    ['uploads/07/a', undefined],
    ['uploads/x/a', undefined],
    ['uploads//a', undefined],
    ['uploads/9999999999/a', undefined],
    ['/uploads/7/a', undefined],
    ['apps/7/imports/x/upload', undefined],
  ])('%j is parsed as %j', (key, expected) => {
    expect(parseKey(key)).toEqual(expected)
  })

  test('in an app’s path names that app, whatever follows the path', () => {
    const property = fc.property(fc.integer({ min: 1, max: 999_999_999 }), fc.string(), (appId, fileName) => {
      expect(parseKey(`${pathOf(appId)}${fileName}`)).toEqual({ appId, fileName })
    })
    return fc.assert(property)
  })
})

describe('a dot segment', () => {
  test.each(['.', '..', 'a/.', 'a/..', '../a', './a', 'a/../b', 'a\\..\\b', '%2e', 'a/%2E%2e', '.%2e/a', 'a%5c..%5cb'])(
    'is found in %s',
    (key) => {
      expect(hasDotSegment(key)).toBe(true)
    },
  )

  test.each(['%252e%252e/a', 'a%255C%25252e.%252fb', 'a%2F..'])(
    'is found in %s, which is encoded repeatedly',
    (key) => {
      expect(hasDotSegment(key)).toBe(true)
    },
  )

  test.each(['', 'a', '...', 'a..', '..a', 'a/...', 'a/.b', 'a/b.', 'v1..csv', '%2e%2ea', 'a%2e', '%', '2e'])(
    'is not found in %s',
    (key) => {
      expect(hasDotSegment(key)).toBe(false)
    },
  )
})

// service.md, Endpoints 4.
describe('a file name', () => {
  test.each(['people.csv', 'people', '名前.csv.gz', 'a%20b', '...', '-rf', '"', "'", '\\', 'a+b=c&d?e#f'])(
    'may be %j',
    (name) => {
      expect(fileNameProblem(name)).toBeUndefined()
    },
  )

  test.each([
    ['', 'empty'],
    ['a/b', 'slash'],
    ['/', 'slash'],
    ['../a', 'slash'],
    ['a%2Fb', 'slash'],
    ['a%2fb', 'slash'],
    ['a b', 'white space'],
    ['a\tb', 'white space'],
    ['a\n', 'white space'],
    ['a\u00a0b', 'white space'],
    ['a\u3000b', 'white space'],
    ['a\u0001b', 'white space'],
    ['.', 'must not be .'],
    ['..', 'must not be ..'],
  ])('may not be %j', (name, problem) => {
    expect(fileNameProblem(name)).toContain(problem)
  })
})

// service.md, Limits.
test('a file may have at most 1 GiB', () => {
  expect(fileSizeProblem(0)).toBeUndefined()
  expect(fileSizeProblem(2 ** 30)).toBeUndefined()
  expect(fileSizeProblem(2 ** 30 + 1)).toContain('larger')
})
