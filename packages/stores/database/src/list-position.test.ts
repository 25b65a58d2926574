import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatPosition, parsePosition } from './list-position.ts'

// Positions come from addresses of pages, which anybody can edit.

test('a position is what it was before it went through an address', () => {
  const time = fc.bigInt({ min: 0n, max: 9_999_999_999_999_999n }).map(String)
  const number = fc.integer({ min: 0, max: 999_999_999_999_999 })
  fc.assert(
    fc.property(time, number, (atUs, number) => {
      expect(parsePosition(formatPosition({ atUs, number }))).toEqual({ atUs, number })
    }),
  )
})

test.each([
  '',
  '~',
  '1',
  '1~',
  '~1',
  '-1~1',
  '1~-1',
  '1~1~1',
  '1.5~1',
  '1~1 ',
  `${'9'.repeat(17)}~1`,
  `1~${'9'.repeat(16)}`,
])('%j is no position', (text) => expect(parsePosition(text)).toBeUndefined())
