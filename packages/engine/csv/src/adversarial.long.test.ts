import { describe, expect, test } from 'vitest'
import { RowSplitter, readRows } from './rows.ts'
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

/** A reading of a file: CPU time in µs per MB, and the numbers of blocks and rows. */
interface Reading {
  cost: number
  blocks: number
  rows: number
}

/** Reads a file and splits each of its rows. */
async function read(chunks: readonly Buffer[]): Promise<Reading> {
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
  const splitter = new RowSplitter()
  let [blocks, rows] = [0, 0]
  const before = process.cpuUsage()
  for await (const block of readRows(sourceOf(chunks))) {
    blocks++
    rows += block.count
    for (let row = 0; row < block.count; row++) splitter.split(block, row)
  }
  const { user, system } = process.cpuUsage(before)
  return { cost: ((user + system) * 1e6) / bytes, blocks, rows }
}

/**
 * Reads a file and a plain one in turn. Returns how many times as much CPU time the file takes, and its last reading.
 * The least times count, because other work of the machine makes single readings slower.
 */
async function compareWithPlain(chunks: readonly Buffer[]): Promise<{ ratio: number; reading: Reading }> {
  const plain = chunksOf('u1,2\n')
  let reading = await read(chunks)
  let [least, leastPlain] = [reading.cost, Number.POSITIVE_INFINITY]
  for (let pass = 0; pass < 10; pass++) {
    leastPlain = Math.min(leastPlain, (await read(plain)).cost)
    reading = await read(chunks)
    least = Math.min(least, reading.cost)
  }
  return { ratio: least / leastPlain, reading }
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
    ['a million commas before a value', `${','.repeat(2 ** 20 - 2)}x\n`],
    ['empty quoted values before a value', `${'"",'.repeat(2 ** 18)}x\n`],
    ['half a million CRs before a value', `${'\r'.repeat(2 ** 19)}x\n`],
    ['rows of empty values', ',"",\r\n'],
    ['quoted values of one letter', `${'"a",'.repeat(2 ** 18 - 1)}\n`],
    ['lone CRs', '\r\r\r'],
    ['a BOM in each line', '\ufeff\n'],
    ['huge values within the limit', `${longest}\n`],
    ['values that are too long', `${longest}${longest}\n`],
  ])('%s: takes at most five times the CPU time of a plain file of short lines', async (_, text) => {
    const chunks = chunksOf(text)
    const { ratio, reading } = await compareWithPlain(chunks)
    expect(reading.blocks).toBeLessThanOrEqual(2 * chunks.length)
    expect(ratio).toBeLessThan(5)
  })

  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
  ])('blank lines (%s) take at most five times the CPU time of a plain file', async (_, text) => {
    const { ratio, reading } = await compareWithPlain(chunksOf(text))
    expect(reading.rows).toBe(0)
    expect(ratio).toBeLessThan(5)
  })
})
