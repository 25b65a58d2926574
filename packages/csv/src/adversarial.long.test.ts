import { describe, expect, test } from 'vitest'
import { readRows } from './rows.ts'
import { sourceOf } from './testing/documents.ts'

const chunkBytes = 2 ** 16

/** Repeats a text up to this many bytes, in chunks as storage returns them. */
function chunksOf(text: string, bytes = 2 ** 20): Buffer[] {
  const unit = Buffer.from(text)
  const document = Buffer.alloc(Math.max(1, Math.floor(bytes / unit.length)) * unit.length, unit)
  return Array.from({ length: Math.ceil(document.length / chunkBytes) }, (_, index) =>
    document.subarray(index * chunkBytes, (index + 1) * chunkBytes),
  )
}

/** Returns the least CPU time of a few readings, µs per MB, and the numbers of blocks and rows. */
async function read(chunks: readonly Buffer[]): Promise<{ cost: number; blocks: number; rows: number }> {
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
  let [cost, blocks, rows] = [Number.POSITIVE_INFINITY, 0, 0]
  for (let pass = 0; pass < 4; pass++) {
    ;[blocks, rows] = [0, 0]
    const before = process.cpuUsage()
    for await (const block of readRows(sourceOf(chunks))) {
      blocks++
      rows += block.count
    }
    const { user, system } = process.cpuUsage(before)
    cost = Math.min(cost, ((user + system) * 1e6) / bytes)
  }
  return { cost, blocks, rows }
}

const longest = 'x'.repeat(2 ** 20 - 10)

describe('a file that was made to be slow to read', () => {
  test.each([
    ['lines that only open a quote', '"x\n'],
    ['lines that only open a quote, alternating with valid lines', '"x\na\n'],
    ['lines that close a quote and open the next', 'a","\n'],
    ['text after a closing quote', '"a"b\n'],
    ['quotes broken on a later line', '"a\nb"c\n'],
    ['a lone CR after a closing quote', '"a"\rb\n'],
    ['a quote that never closes', `"${'x\n'.repeat(2 ** 20)}`],
    ['empty quoted values', '""\n'],
    ['doubled quotes in short values', '"""a"""\n'],
    ['half a million doubled quotes in one value', `"${'""'.repeat(2 ** 19 - 2)}"\n`],
    ['a million commas in a row', `${','.repeat(2 ** 20 - 2)}\n`],
    ['quoted values of one letter', `${'"a",'.repeat(2 ** 18 - 1)}\n`],
    ['lone CRs', '\r\r\r'],
    ['a BOM in each line', '\ufeff\n'],
    ['huge values within the limit', `${longest}\n`],
    ['values that are too long', `${longest}${longest}\n`],
  ])('%s: takes at most a little longer than a plain file of short lines', async (_, text) => {
    const plain = await read(chunksOf('u1,2\n'))
    const chunks = chunksOf(text)
    const { cost, blocks } = await read(chunks)
    expect(blocks).toBeLessThanOrEqual(2 * chunks.length)
    expect(cost / plain.cost).toBeLessThan(5)
  })

  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
  ])('blank lines (%s) take at most a little longer than a plain file', async (_, text) => {
    const plain = await read(chunksOf('u1,2\n'))
    const { cost, rows } = await read(chunksOf(text))
    expect(rows).toBe(0)
    expect(cost / plain.cost).toBeLessThan(5)
  })
})
