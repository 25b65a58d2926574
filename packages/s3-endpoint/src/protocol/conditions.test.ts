import { expect, test } from 'vitest'
import { checkConditions, readConditions, readWriteCondition } from './conditions.ts'

const storedObject = { etag: 'abc', modifiedAt: new Date('2025-01-02T03:04:05Z') }
const sameTime = 'Thu, 02 Jan 2025 03:04:05 GMT'
const earlierTime = 'Thu, 02 Jan 2025 03:04:04 GMT'

test.each<[Record<string, string>, string]>([
  [{}, 'proceed'],
  [{ 'if-match': '"abc"' }, 'proceed'],
  [{ 'if-match': 'abc' }, 'proceed'],
  [{ 'if-match': '"x", "abc"' }, 'proceed'],
  [{ 'if-match': '*' }, 'proceed'],
  [{ 'if-match': '"x"' }, 'failed'],
  [{ 'if-none-match': '"abc"' }, 'not-modified'],
  [{ 'if-none-match': 'W/"abc"' }, 'not-modified'],
  [{ 'if-none-match': '*' }, 'not-modified'],
  [{ 'if-none-match': '"x"' }, 'proceed'],
  [{ 'if-modified-since': sameTime }, 'not-modified'],
  [{ 'if-modified-since': earlierTime }, 'proceed'],
  [{ 'if-modified-since': 'yesterday' }, 'proceed'],
  [{ 'if-unmodified-since': sameTime }, 'proceed'],
  [{ 'if-unmodified-since': earlierTime }, 'failed'],
  [{ 'if-match': '"abc"', 'if-unmodified-since': earlierTime }, 'proceed'],
  [{ 'if-none-match': '"x"', 'if-modified-since': sameTime }, 'proceed'],
])('reading under %o: %s', (headers, expected) => {
  expect(checkConditions(storedObject, readConditions(new Map(Object.entries(headers))))).toBe(expected)
})

test('a write accepts only If-None-Match: * or If-Match', () => {
  const read = (headers: Record<string, string>) => readWriteCondition(new Map(Object.entries(headers)))
  expect(read({})).toBeUndefined()
  expect(read({ 'if-none-match': '*' })).toEqual({ ifAbsent: true })
  expect(read({ 'if-match': '"a", "b"' })).toEqual({ ifMatch: ['a', 'b'] })
  expect(() => read({ 'if-none-match': '"a"' })).toThrow(expect.objectContaining({ code: 'NotImplemented' }))
  expect(() => read({ 'if-none-match': '*', 'if-match': '"a"' })).toThrow()
})
