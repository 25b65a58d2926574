import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ListRequest } from '../backend.ts'
import { compareKeys, type ListEntry, listPage } from './listing.ts'

const part = fc.string({ unit: fc.constantFrom('a', 'b', '/', '-', 'ü', '😀'), maxLength: 6 })
const keys = fc.uniqueArray(
  part.filter((key) => key !== ''),
  { maxLength: 40 },
)

/** Computes the expected listing of a whole bucket in the simplest way. */
function expected(sorted: string[], { prefix, delimiter, after }: ListRequest): string[] {
  const names = new Set<string>()
  for (const key of sorted) {
    if (!key.startsWith(prefix) || compareKeys(key, after) <= 0) continue
    const rest = key.slice(prefix.length)
    const rolledUp = delimiter !== '' && rest.includes(delimiter)
    names.add(rolledUp ? prefix + rest.slice(0, rest.indexOf(delimiter) + delimiter.length) : key)
  }
  names.delete(after)
  return [...names]
}

function walk(sorted: string[], request: ListRequest): { entries: ListEntry[]; pages: number[] } {
  const entries: ListEntry[] = []
  const pages: number[] = []
  for (let after: string | undefined = request.after; after !== undefined; ) {
    const page = listPage(sorted, { ...request, after })
    entries.push(...page.entries)
    pages.push(page.entries.length)
    after = page.next
  }
  return { entries, pages }
}

test('the pages of a listing together show the sorted keys, rolled up, without gaps or repetitions', () => {
  fc.assert(
    fc.property(keys, part, fc.constantFrom('', '/', '-', 'ab'), part, fc.integer({ min: 1, max: 5 }), (...given) => {
      const [all, prefix, delimiter, after, limit] = given
      const sorted = all.toSorted(compareKeys)
      const { entries, pages } = walk(sorted, { prefix, delimiter, after, limit })
      expect(entries.map(({ name }) => name)).toEqual(expected(sorted, { prefix, delimiter, after, limit }))
      expect(pages.slice(0, -1).every((length) => length === limit)).toBe(true)
      expect(entries.filter(({ kind }) => kind === 'object').every(({ name }) => all.includes(name))).toBe(true)
    }),
    { numRuns: 500 },
  )
})

test('keys are ordered by the bytes of their UTF-8', () => {
  const key = fc.string({ unit: fc.constantFrom('a', 'b', 'ü', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}') })
  fc.assert(
    fc.property(key, key, (left, right) => {
      expect(Math.sign(compareKeys(left, right))).toBe(Buffer.compare(Buffer.from(left), Buffer.from(right)))
    }),
  )
})
