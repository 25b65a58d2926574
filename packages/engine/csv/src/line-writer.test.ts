import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cellsOf } from './cells.ts'
import { LineWriter } from './line-writer.ts'
import { type RowBlock, RowSplitter, readRows } from './rows.ts'
import { anyDocument, sourceOf, tableAndDocument } from './testing/documents.ts'

async function read(document: Buffer, columns?: number): Promise<{ block: RowBlock; row: number; cells: Buffer[] }[]> {
  const blocks = await Array.fromAsync(readRows(sourceOf([document]), columns === undefined ? {} : { columns }))
  return blocks.flatMap((block) =>
    Array.from(block.rowEnd.keys(), (row) => ({ block, row, cells: cellsOf(block, row) })),
  )
}

const readCells = async (document: Buffer) => (await read(document)).map(({ cells }) => cells)

/** Returns a row as the lines of an error file have it, after other cells and before others. */
function lineOf(block: RowBlock, row: number, leftOut: number): Buffer {
  const writer = new LineWriter()
  writer.value(Buffer.from('x'), 0, 1)
  writer.cells(new RowSplitter().split(block, row), leftOut)
  writer.copy(Buffer.from('-\n-'), 1, 2)
  return Buffer.from(writer.take())
}

describe('a written line', () => {
  test('has quotes only where a reader needs them', () => {
    const writer = new LineWriter()
    for (const cell of ['a b', '', 'ä', '5" disk', 'a,b', 'a\r', 'a\nb']) {
      const source = Buffer.from(`"${cell}"`)
      writer.value(source, 1, source.length - 1)
    }
    writer.endLine()
    expect(writer.take().toString()).toBe('a b,,ä,"5"" disk","a,b","a\r","a\nb"\n')
    writer.value(Buffer.from('b'), 0, 1)
    writer.copy(Buffer.from('-"\n-'), 1, 3)
    expect(writer.take().toString()).toBe('b,"\n')
  })

  test('may be many times as large as the buffer', () => {
    const source = Buffer.alloc(100_000, 'x')
    const writer = new LineWriter()
    for (const bytes of [10, source.length, 10]) writer.copy(source, 0, bytes)
    expect(writer.take().equals(Buffer.alloc(100_020, 'x'))).toBe(true)
  })

  test('is read as the values that were written, whatever their bytes', async () => {
    await fc.assert(
      fc.asyncProperty(tableAndDocument, async ({ table }) => {
        const writer = new LineWriter()
        for (const cells of table) {
          for (const cell of cells) writer.value(cell, 0, cell.length)
          writer.endLine()
        }
        expect(await readCells(writer.take())).toEqual(table)
      }),
      { numRuns: 500 },
    )
  })

  test('of a row has all cells of the row but the one that is left out', async () => {
    await fc.assert(
      fc.asyncProperty(anyDocument, fc.integer({ min: -1, max: 2 }), async (document, leftOut) => {
        for (const { block, row, cells } of await read(document)) {
          const kept = cells.filter((_, cell) => cell !== leftOut)
          const expected = [Buffer.from('x'), ...(kept.length === 0 ? [Buffer.alloc(0)] : kept)]
          expect(await readCells(lineOf(block, row, leftOut))).toEqual([expected])
        }
      }),
      { numRuns: 1000 },
    )
  })

  // The buffer of a writer has 16,384 bytes at first.
  test.each([
    ['one value', (size: number) => 'x'.repeat(size), undefined],
    ['quotes', (size: number) => `"${'""'.repeat(size / 2)}"`, undefined],
    ['values after the last column', (size: number) => `a,${'x'.repeat(size)}`, 1],
    ['a quoted value after the last column', (size: number) => `a,"${'x'.repeat(size)},"`, 1],
    ['quotes after the last column', (size: number) => `a,"${'x'.repeat(size)}""y"`, 1],
  ])('is whole if a row of %s is as large as the buffer or larger', async (_, rowOf, columns) => {
    for (let size = 16_350; size < 16_400; size++) {
      const document = Buffer.from(`${rowOf(size)}\n`)
      const [expected = []] = await readCells(document)
      const [found] = await read(document, columns)
      if (found === undefined) throw new Error('no row')
      const line = lineOf(found.block, found.row, -1)
      expect(line.equals(lineOf(found.block, found.row, 100)), `${size} bytes`).toBe(true)
      const [cells] = await readCells(line)
      expect(Buffer.concat(cells?.slice(1) ?? []).equals(Buffer.concat(expected)), `${size} bytes`).toBe(true)
    }
  })
})
