import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringProblem } from './string.ts'
import { tooLong } from './value-type.ts'

// service.md, Profile entry; service.md, Limits; design.md §3, String value over 255 characters.
describe('stringProblem', () => {
  test.each([
    ['text', 'plan A'],
    ['white space alone', ' \t\r\n '],
    ['255 letters', 'x'.repeat(255)],
    ['255 characters outside the basic plane', '😀'.repeat(255)],
    ['a byte order mark', '\ufeffx'],
    ['U+FFFD itself', '\ufffd'],
  ])('finds nothing wrong with %s', (_, text) => {
    expect(stringProblem(text)).toBeUndefined()
  })

  test.each([
    ['256 letters', 'x'.repeat(256)],
    ['256 characters outside the basic plane', '😀'.repeat(256)],
    ['254 such characters and two letters', `${'😀'.repeat(254)}xx`],
  ])('refuses %s', (_, text) => {
    expect(stringProblem(text)).toBe(tooLong)
  })

  test('length is counted in code points', () => {
    const character = fc.oneof(
      fc.constantFrom('a', 'é', '日', '😀'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    )
    fc.assert(
      fc.property(fc.array(character, { minLength: 240, maxLength: 270 }), (characters) => {
        const text = characters.join('').replaceAll('\0', '')
        expect(stringProblem(text)).toBe(Array.from(text).length > 255 ? tooLong : undefined)
      }),
    )
  })
})
