import { Readable } from 'node:stream'
import { readRows } from '@sluice/csv'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type BatchLimits, cutBatches, joinBatches, type RowBatch, splitBatch } from './cut.ts'

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

// design.md §4, Bounded memory.
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

/** Cuts a document into batches and joins them, if `mayJoin` allows it. Returns the rows and the end of each batch. */
async function cutJoined(document: string, limits: BatchLimits, mayJoin: () => boolean) {
  const cut = cutBatches(readRows(Readable.from([Buffer.from(document)])), 0, limits)
  const batches = await Array.fromAsync(joinBatches(cut, () => ({ rows: limits.rows, bytes: 2 ** 20 }), mayJoin))
  for (const { rows, slices } of batches) {
    expect(slices.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(rows)
  }
  return batches.map(({ rows, end }) => ({ rows, end }))
}

test.each([
  [
    'up to the rows of a transaction',
    'a\n'.repeat(20_000),
    { rows: 6_000, keyBytes: [10] },
    [2_500, 5_000, 5_000, 5_000, 2_500],
  ],
  [
    'not if a transaction has no room for two',
    'a\n'.repeat(6_000),
    { rows: 3_000, keyBytes: [10] },
    [2_500, 2_500, 1_000],
  ],
  ['up to 1 MiB', `${'x'.repeat(80_000)}\n`.repeat(20), { rows: 100, keyBytes: [10] }, [4, 12, 4]],
  ['up to the keys of one batch', 'a\n'.repeat(70), { rows: 100, keyBytes: [2 ** 17] }, [32, 32, 6]],
])('after the first one, batches are joined %s', async (_, document, limits, expected) => {
  const batches = await cutJoined(document, limits, () => true)
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

test('joined batches have all rows, and end where batches end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 9 }), fc.func(fc.boolean()), async (batches, answer) => {
      const document = 'a\n'.repeat(batches * 2_500 - 7)
      const limits = { rows: 5_000, keyBytes: [1] }
      let asked = 0
      const joined = await cutJoined(document, limits, () => answer(asked++))
      const ends = new Set((await cut(document, limits, 65_536)).map(({ end }) => end))
      expect(joined.filter(({ end }) => !ends.has(end))).toEqual([])
      expect(joined.reduce((sum, { rows }) => sum + rows, 0)).toBe(batches * 2_500 - 7)
      expect(Math.max(...joined.map(({ rows }) => rows))).toBeLessThanOrEqual(5_000)
    }),
    { numRuns: 50 },
  )
})

test('if reading fails, the batches before the failure are passed on, joined or not', async () => {
  async function* broken() {
    yield Buffer.from('a\n'.repeat(11_000))
    throw new Error('broken off')
  }
  for (const mayJoin of [true, false]) {
    const joined = joinBatches(
      cutBatches(readRows(broken()), 0, { rows: 10_000, keyBytes: [1] }),
      () => ({ rows: 10_000, bytes: 2 ** 20 }),
      () => mayJoin,
    )
    let rows = 0
    const reading = async () => {
      for await (const batch of joined) rows += batch.rows
    }
    await expect(reading()).rejects.toThrow('broken off')
    expect(rows).toBe(10_000)
  }
})

function* split(batch: RowBatch, rows: number): Generator<RowBatch> {
  const [first, rest] = splitBatch(batch, rows)
  yield first
  if (rest !== undefined) yield* split(rest, rows)
}

test('parts have the rows of their batch; a worker that continues after a part ends its batch at the same row', async () => {
  await fc.assert(
    fc.asyncProperty(anyDocument, anyRows, anyRows, async (document, rows, partRows) => {
      const limits = { rows, keyBytes: [1] }
      const whole = await cut(document, limits, 7)
      const read = cutBatches(readRows(Readable.from([Buffer.from(document)])), 0, limits)
      for (const [index, batch] of (await Array.fromAsync(read)).entries()) {
        const parts = [...split(batch, partRows)]
        expect(parts.reduce((sum, part) => sum + part.rows, 0)).toBe(batch.rows)
        expect(parts.map(({ start }) => start)).toEqual([batch.start, ...parts.slice(0, -1).map(({ end }) => end)])
        for (const part of parts) expect(part.rows).toBeLessThanOrEqual(partRows)
        expect(parts.at(-1)).toMatchObject({ end: batch.end })
        for (const { end, wholeEnd } of parts.slice(0, -1)) {
          expect(wholeEnd).toBe(batch.end)
          const rest = await cut(document, { ...limits, firstEnd: batch.end }, 7, end)
          expect(rest.map((each) => each.end)).toEqual(whole.slice(index).map((each) => each.end))
        }
      }
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
