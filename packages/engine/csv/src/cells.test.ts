import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cellsOf } from './cells.ts'
import { type Cells, type RowBlock, RowSplitter, readRows } from './rows.ts'
import { anyDocument, sourceOf } from './testing/documents.ts'

const latin1 = (value: Buffer) => value.toString('latin1')
const textsOf = (block: RowBlock, row: number) => cellsOf(block, row).map(latin1)

function valuesOf({ bytes, count, start, end }: Cells): string[] {
  return Array.from({ length: count }, (_, cell) => latin1(bytes.subarray(start[cell], end[cell])))
}

test('rows that are split one after another have the same cells as each of them alone', async () => {
  await fc.assert(
    fc.asyncProperty(anyDocument, async (document) => {
      const splitter = new RowSplitter()
      for await (const block of readRows(sourceOf([document]))) {
        for (const row of block.rowEnd.keys()) expect(valuesOf(splitter.split(block, row))).toEqual(textsOf(block, row))
      }
    }),
    { numRuns: 1000 },
  )
})

// The page that converts files decodes a row as a whole.
test('a row of UTF-8 is UTF-8 from its first cell to its last one, also where doubled quotes have become single', async () => {
  await fc.assert(
    fc.asyncProperty(anyDocument, async (document) => {
      const splitter = new RowSplitter()
      for await (const block of readRows(sourceOf([document]))) {
        for (const row of block.rowEnd.keys()) {
          const { bytes, count, start, end } = splitter.split(block, row)
          expect(isUtf8(bytes.subarray(start[0], end[count - 1]))).toBe(true)
        }
      }
    }),
    { numRuns: 1000 },
  )
  const [block] = await Array.fromAsync(readRows(sourceOf([Buffer.from('"é""é",ü\n')])))
  if (block === undefined) throw new Error('no row')
  const { bytes, end } = new RowSplitter().split(block, 0)
  expect(isUtf8(bytes.subarray(0, end[1]))).toBe(true)
})

test('the first cells of a row are the same whether or not the others are split', async () => {
  await fc.assert(
    fc.asyncProperty(anyDocument, fc.integer({ min: 1, max: 4 }), async (document, most) => {
      const splitter = new RowSplitter()
      for await (const block of readRows(sourceOf([document]))) {
        for (const row of block.rowEnd.keys()) {
          expect(valuesOf(splitter.split(block, row, most))).toEqual(textsOf(block, row).slice(0, most))
        }
      }
    }),
    { numRuns: 1000 },
  )
})

test('a row may have many more cells than the rows before it', async () => {
  const document = Buffer.from(`a\n${'b,'.repeat(1000)}"c""d"\ne,f\n`)
  const splitter = new RowSplitter()
  for await (const block of readRows(sourceOf([document]))) {
    const counts = Array.from(block.rowEnd, (_, row) => splitter.split(block, row).count)
    expect(counts).toEqual([1, 1001, 2])
    expect(valuesOf(splitter.split(block, 1)).at(-1)).toBe('c"d')
  }
})
