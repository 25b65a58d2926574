import { expect, test } from 'vitest'
import { parseHeaders } from './headers.ts'

test('names are read in lower case, and repeated values are joined as in the signature', () => {
  const headers = parseHeaders(['X-Amz-Meta-A', ' 1 ', 'x-amz-meta-a', '2', 'Host', 'h'])
  expect([...headers]).toEqual([
    ['x-amz-meta-a', '1,2'],
    ['host', 'h'],
  ])
})

test.each(['Host', 'Authorization', 'Content-Type', 'Content-MD5', 'X-Amz-Date', 'X-Amz-Copy-Source', 'Range'])(
  'a second %s header is refused, because readers differ in which header they use',
  (name) => {
    expect(() => parseHeaders([name, 'a', name.toLowerCase(), 'b'])).toThrow(/occurs twice/)
  },
)

test('a value that cannot be sent as a header is refused', () => {
  expect(() => parseHeaders(['x-amz-meta-a', 'a\u007f'])).toThrow(/cannot be sent/)
})
