import { readRows } from '@sluice/csv'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type BatchLimits, cutBatches } from './cut.ts'

/**
 * Cuts a document into batches, starting at a position. Its bytes arrive in chunks. Returns the rows and the end of
 * each batch.
 */
async function cut(document: string, limits: BatchLimits, chunkBytes: number, position = 0) {
  const bytes = Buffer.from(document)
  async function* chunks() {
    for (let at = position; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
  }
  const batches = await Array.fromAsync(cutBatches(readRows(chunks(), { position }), position, limits))
  for (const { rows, slices } of batches) {
    expect(slices.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(rows)
  }
  return batches.map(({ rows, end }) => ({ rows, end }))
}

test.each([
  ['by rows', 'a\n'.repeat(7), { rows: 3, keyBytes: [10] }, [3, 3, 1]],
  ['by rows, with a smaller first batch', 'a\n'.repeat(7), { rows: 3, firstRows: 1, keyBytes: [10] }, [1, 3, 3]],
  [
    'by rows, with a first batch no larger than the others',
    'a\n'.repeat(7),
    { rows: 3, firstRows: 5, keyBytes: [10] },
    [3, 3, 1],
  ],
  ['by the bytes of rows', `${'x'.repeat(80_000)}\n`.repeat(6), { rows: 100, keyBytes: [10] }, [4, 2]],
  ['by empty cells', `${','.repeat(24_999)}\n`.repeat(7), { rows: 100, keyBytes: [10] }, [5, 2]],
  ['by the keys that each row repeats', 'a\n'.repeat(70), { rows: 100, keyBytes: [2 ** 17] }, [32, 32, 6]],
  [
    'after each row if the keys of one row alone exceed the limit',
    'a\n'.repeat(3),
    { rows: 100, keyBytes: [2 ** 30] },
    [1, 1, 1],
  ],
])('batches are cut %s', async (_, document, limits, expected) => {
  const batches = await cut(document, limits, 65_536)
  expect(batches.map(({ rows }) => rows)).toEqual(expected)
})

const anyDocument = fc
  .array(fc.constantFrom('a\n', 'b,c\n', '"d\ne",f\n', '\n', '"broken\n'), { maxLength: 40 })
  .map((rows) => rows.join(''))
const anyRows = fc.integer({ min: 1, max: 5 })

test('batches end at the same rows however the bytes arrive', async () => {
  await fc.assert(
    fc.asyncProperty(anyDocument, anyRows, fc.integer({ min: 1, max: 20 }), async (document, rows, chunkBytes) => {
      const limits = { rows, keyBytes: [1] }
      expect(await cut(document, limits, chunkBytes)).toEqual(await cut(document, limits, 1_000))
    }),
  )
})

test('a worker that continues after any batch cuts the same batches', async () => {
  await fc.assert(
    fc.asyncProperty(anyDocument, anyRows, async (document, rows) => {
      const limits = { rows, keyBytes: [1] }
      const batches = await cut(document, limits, 64)
      for (const [index, { end }] of batches.entries()) {
        expect(await cut(document, limits, 64, end)).toEqual(batches.slice(index + 1))
      }
    }),
  )
})
