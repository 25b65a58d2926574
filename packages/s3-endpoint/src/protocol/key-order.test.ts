import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareKeys } from './key-order.ts'

test('keys are ordered by the bytes of their UTF-8', () => {
  const key = fc.string({ unit: fc.constantFrom('a', 'b', 'ü', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}') })
  fc.assert(
    fc.property(key, key, (left, right) => {
      expect(Math.sign(compareKeys(left, right))).toBe(Buffer.compare(Buffer.from(left), Buffer.from(right)))
    }),
  )
})
