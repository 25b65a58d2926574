import fc from 'fast-check'
import { expect, test } from 'vitest'
import { quoted } from './quoted.ts'

test.each([
  ['a plain name', 'Corner shop', '“Corner shop”'],
  ['line breaks', 'a\r\nb\u2028c\u0085d', '“a b c d”'],
  ['quotes that would end it', 'a” has failed. Sign in at “b"', '“a’ has failed. Sign in at ’b’”'],
  ['marks that turn the reading direction', 'a\u202egnp.exe', '“a gnp.exe”'],
  ['half a character', 'a\ud800b', '“a\ufffdb”'],
])('%s: a name stays a name', (_, name, shown) => {
  expect(quoted(name)).toBe(shown)
})

test('whatever a name holds, it takes one line of at most 102 characters, and ends where its quotes do', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (name) => {
      const shown = quoted(name)
      expect([...shown].length).toBeLessThanOrEqual(102)
      expect(shown).toMatch(/^“[^“”"\p{Cc}\p{Cf}\u2028\u2029]*”$/u)
    }),
  )
})
