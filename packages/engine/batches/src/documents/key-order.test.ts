import { textOid } from '@sluice/database'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ElementList } from './element-list.ts'
import { inKeyOrder } from './key-order.ts'

function listOf(ids: readonly string[]): ElementList {
  const list = new ElementList(textOid)
  for (const id of ids) {
    const bytes = Buffer.from(id)
    list.begin().write(bytes, 0, bytes.length)
    list.end()
  }
  return list
}

const numbersOf = (ids: readonly string[]) => [...ids.keys()]

test.each([
  ['IDs with a shared beginning', ['customer-7', 'customer-1', 'customer-3'], [1, 2, 0]],
  ['IDs of different lengths', ['ab', 'a', 'abc', ''], [3, 1, 0, 2]],
  ['lists of one ID', ['a'], [0]],
  ['lists of no ID', [], []],
])('%s are sorted by the bytes in which they differ', (_, ids, expected) => {
  expect(inKeyOrder(listOf(ids), numbersOf(ids))).toEqual(expected)
})

test('only the given elements are sorted', () => {
  expect(inKeyOrder(listOf(['d', 'c', 'b', 'a']), [0, 3, 1])).toEqual([3, 1, 0])
})

test('elements in order are returned as they are, without a copy', () => {
  const elements = [0, 1, 2]
  expect(inKeyOrder(listOf(['user-1', 'user-2', 'user-3']), elements)).toBe(elements)
})

test('no element is lost or doubled, and the deciding bytes ascend', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 50 }), (ids) => {
      const order = inKeyOrder(listOf(ids), numbersOf(ids))
      expect(order.toSorted((one, other) => one - other)).toEqual(numbersOf(ids))
      const contents = ids.map((id) => Buffer.from(id))
      const shared = commonPrefix(contents)
      const deciding = order.map((element) => (contents[element] ?? Buffer.of()).subarray(shared, shared + 4))
      for (const [place, bytes] of deciding.entries()) {
        const preceding = deciding[place - 1]
        // A missing byte sorts like a zero byte.
        if (preceding !== undefined) expect(Buffer.compare(padded(preceding), padded(bytes))).toBeLessThanOrEqual(0)
      }
    }),
  )
})

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(4)]).subarray(0, 4)
}

function commonPrefix(contents: readonly Buffer[]): number {
  const [first = Buffer.of()] = contents
  for (let length = 0; length < first.length; length++) {
    if (contents.some((bytes) => bytes[length] !== first[length])) return length
  }
  return first.length
}
