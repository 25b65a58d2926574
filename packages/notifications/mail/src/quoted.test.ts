import fc from 'fast-check'
import { expect, test } from 'vitest'
import { quoted } from './quoted.ts'

test.each([
  ['plain text', 'Corner shop', '“Corner shop”'],
  ['line breaks', 'a\r\nb\u2028c\u0085d', '“a b c d”'],
  ['quotes that would end the name', 'a” has failed. Sign in at “b"', '“a’ has failed. Sign in at ’b’”'],
  ['marks that reverse the reading direction', 'a\u202egnp.exe', '“a gnp.exe”'],
  ['a lone surrogate', 'a\ud800b', '“a\ufffdb”'],
])('a name with %s stays one name in quotes', (_, name, shown) => {
  expect(quoted(name)).toBe(shown)
})

test('every name takes one line of at most 102 characters, and cannot close its quotes', () => {
  const character = fc.oneof(fc.constantFrom(...'“”„‟"\r\n\u2028\u202e'), fc.string({ unit: 'binary', maxLength: 1 }))
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 500 }), (name) => {
      const shown = quoted(name)
      expect([...shown].length).toBeLessThanOrEqual(102)
      expect(shown).toMatch(/^“[^“”"\p{Cc}\p{Cf}\u2028\u2029]*”$/u)
    }),
  )
})
