import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stringProblem } from './string.ts'
import { notUtf8, tooLong } from './value-type.ts'

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
    ['256 letters', 'x'.repeat(256), tooLong],
    ['256 characters outside the basic plane', '😀'.repeat(256), tooLong],
    ['254 of them and two letters', `${'😀'.repeat(254)}xx`, tooLong],
    ['NUL', 'a\0b', notUtf8],
    ['half a surrogate pair', 'a\ud83d', notUtf8],
    ['the other half', '\ude00a', notUtf8],
    ['NUL in a text that is too long', `\0${'x'.repeat(300)}`, notUtf8],
  ])('refuses %s', (_, text, problem) => {
    expect(stringProblem(text)).toBe(problem)
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
