import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isLonger, nameProblem } from './name.ts'

// service.md, Limits.
describe('a name', () => {
  test.each([
    ['white space alone', ' '],
    ['255 letters', 'x'.repeat(255)],
    ['255 characters of two UTF-16 units each', '𝒳'.repeat(255)],
  ])('may be %s', (_, text) => {
    expect(nameProblem(text, 255)).toBeUndefined()
  })

  test.each([
    ['empty', '', 'must not be empty'],
    ['one letter too long', 'x'.repeat(256), 'should be at most 255 characters'],
    ['one character of two UTF-16 units too long', '𝒳'.repeat(256), 'should be at most 255 characters'],
    ['text with NUL', 'a\0', 'should not contain U+0000'],
    ['text with half a surrogate pair', 'a\ud835', 'should not contain a lone surrogate'],
  ])('must not be %s', (_, text, problem) => {
    expect(nameProblem(text, 255)).toBe(problem)
  })
})

test('the length of a text is counted in code points, also if it has halves of surrogate pairs', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '\ud7ff', '\ud800', '\udbff', '\udc00', '\udfff', '\ue000') })
  fc.assert(
    fc.property(text, fc.nat(10), (text, most) => {
      expect(isLonger(text, most)).toBe(Array.from(text).length > most)
    }),
    { numRuns: 1_000 },
  )
})
