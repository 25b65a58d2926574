import { textOid } from '@sluice/database'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashOf } from '../hashes/user-hash.ts'
import { ElementList } from './element-list.ts'
import { UserIndex } from './user-index.ts'

/** Adds each ID that the index does not have yet. Returns the number of each ID. */
function numbersOf(index: UserIndex, ids: ElementList, texts: readonly string[], hash = hashOf): number[] {
  return texts.map((text) => {
    const bytes = Buffer.from(`before${text}behind`)
    const [start, end] = [6, bytes.length - 6]
    const idHash = hash(bytes, start, end)
    const known = index.find(bytes, start, end, idHash)
    if (known !== -1) return known
    ids.begin().write(bytes, start, end)
    index.add(ids.end(), idHash)
    return ids.count - 1
  })
}

function open(): { ids: ElementList; index: UserIndex } {
  const ids = new ElementList(textOid)
  return { ids, index: new UserIndex(ids) }
}

/** Returns the numbers that a Map of strings would find. */
function expectedNumbers(texts: readonly string[]): number[] {
  const numbers = new Map<string, number>()
  return texts.map((text) => {
    const number = numbers.get(text) ?? numbers.size
    numbers.set(text, number)
    return number
  })
}

const texts = fc.array(fc.oneof(fc.constantFrom('a', 'b', 'ab', 'ba', ''), fc.string({ unit: 'grapheme' })), {
  maxLength: 300,
})

test('users are found by any ID, also after the index was cleared', () => {
  fc.assert(
    fc.property(texts, texts, (first, second) => {
      const { ids, index } = open()
      expect(numbersOf(index, ids, first)).toEqual(expectedNumbers(first))
      index.clear()
      ids.clear()
      expect(numbersOf(index, ids, second)).toEqual(expectedNumbers(second))
    }),
  )
})

test('different IDs with the same hash are different users', () => {
  const { ids, index } = open()
  const all = Array.from({ length: 2_000 }, (_, number) => `user ${number % 1_500}`)
  expect(numbersOf(index, ids, all, () => 7)).toEqual(expectedNumbers(all))
})

test('two batches share users if an ID is in both', () => {
  fc.assert(
    fc.property(texts, texts, (one, two) => {
      const [a, b] = [open(), open()]
      numbersOf(a.index, a.ids, one)
      numbersOf(b.index, b.ids, two)
      expect(a.index.sharesUsersWith(b.index, a.ids.count)).toBe(one.some((text) => two.includes(text)))
    }),
  )
})
