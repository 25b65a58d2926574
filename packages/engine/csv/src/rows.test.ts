import { limits } from '@sluice/contract'
import { type Options, parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cellsOf, rowOffset } from './cells.ts'
import { LineWriter } from './line-writer.ts'
import { problemOf, type RecordProblem } from './record-problems.ts'
import { type RowBlock, RowSplitter, type RowsOptions, readRows } from './rows.ts'
import { anyDocument, cut, cuts, sourceOf, tableAndDocument } from './testing/documents.ts'

interface Row {
  cells: Buffer[]
  end: number
  problem: RecordProblem | undefined
}

async function read(chunks: readonly Buffer[], options?: RowsOptions): Promise<Row[]> {
  const blocks = await Array.fromAsync(readRows(sourceOf(chunks), options))
  return blocks.flatMap((block) =>
    Array.from(block.rowEnd, (end, row) => ({ cells: cellsOf(block, row), end, problem: problemOf(block, row) })),
  )
}

async function readText(text: string, options?: RowsOptions): Promise<unknown[]> {
  const rows = await read([Buffer.from(text)], options)
  return rows.map(({ cells, problem }) => [...(problem ? [`(${problem})`] : []), ...cells.map(String)])
}

/** Returns a row's cells as a line of an error file has them. */
function lineOf(block: RowBlock, row: number, leftOut: number): Buffer {
  const writer = new LineWriter()
  writer.cells(new RowSplitter().split(block, row), leftOut)
  return Buffer.from(writer.take())
}

const hasValue = (cells: readonly string[]) => cells.some((cell) => cell !== '')

/** Options with which csv-parse reads our dialect; each byte is a character. */
const csvParseOptions = {
  relax_column_count: true,
  relax_quotes: true,
  skip_empty_lines: true,
  encoding: 'latin1',
  record_delimiter: ['\r\r\n', '\r\n', '\n'],
} as const satisfies Options

// design.md §3, CSV dialect.
describe('readRows', () => {
  test.each([
    [
      'values',
      'a,b\nc,d\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'CRLF and LF',
      'a,b\r\nc,d\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['no line break at the end', 'a\nb', [['a'], ['b']]],
    ['empty values', ',a,,\n', [['', 'a', '', '']]],
    ['rows in which every value is empty', ',,\na\n""\n"",""\r\n,a\n', [['a'], ['', 'a']]],
    ['blank lines', '\r\na\n\nb\r\n\r\n', [['a'], ['b']]],
    ['rows of any length', 'a\nb,c\n', [['a'], ['b', 'c']]],
    ['white space', ' a , b \n', [[' a ', ' b ']]],
    ['quoted commas, quotes and line breaks', '"a,b","c""d","e\r\nf\n"\n', [['a,b', 'c"d', 'e\r\nf\n']]],
    ['a lone CR', 'a\rb,\rc\n', [['a\rb', '\rc']]],
    ['several CRs before LF', 'a\r\r\n\r\r\n"b"\r\r\r\n', [['a'], ['b']]],
    ['a CR at the end of the file', 'a\rb,c\r', [['a\rb', 'c']]],
    ['a CR in quotes at the end of a row', 'a,"b\r"\r\n"c\r"', [['a', 'b\r'], ['c\r']]],
    ['quotes inside an unquoted value', 'a"b",5" disk\n', [['a"b"', '5" disk']]],
    ['a space before a quote', ' "a"\n', [[' "a"']]],
    ['a BOM, which is data here', '\ufeffa\n\ufeff"b"\n', [['\ufeffa'], ['\ufeff"b"']]],
    ['NUL', 'a\0b,"\0"\n', [['a\0b', '\0']]],
    [
      'an unclosed quote',
      'a,"b,c\nd,e\n',
      [
        ['(unclosed quote)', 'a', '"b', 'c'],
        ['d', 'e'],
      ],
    ],
    ['text after a closing quote', 'a,"b"c\r\nd\n', [['(unclosed quote)', 'a', '"b"c'], ['d']]],
    ['NUL after a closing quote', '"a"\0\nb\n', [['(unclosed quote)', '"a"\0'], ['b']]],
    ['nothing', '', []],
  ])('reads %s', async (_, text, expected) => {
    expect(await readText(text)).toEqual(expected)
  })

  test('a value that is not UTF-8 keeps its bytes', async () => {
    const cell = Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28, 0xe9])
    const [row] = await read([Buffer.concat([Buffer.from('a,'), cell, Buffer.from('\n')])])
    expect(row?.cells[1]).toEqual(cell)
    const [quoted] = await read([Buffer.concat([Buffer.from('a,"'), cell, Buffer.from('"\n')])])
    expect(quoted?.cells[1]).toEqual(cell)
  })

  test('a row that is too long keeps its first values', async () => {
    const rows = await read([Buffer.from(`first,${'x'.repeat(limits.recordBytes)}\nb\n`)])
    expect(rows.map(({ problem }) => problem)).toEqual(['too long', undefined])
    expect(rows[0]?.cells.map(String)).toEqual(['first', 'x'.repeat(1024 - 'first,'.length)])
  })

  test('any table in any notation has the cells that were written', async () => {
    await fc.assert(
      fc.asyncProperty(tableAndDocument, cuts, async ({ table, document }, shares) => {
        const rows = await read(cut(document, shares))
        expect(rows.map(({ cells }) => cells)).toEqual(table)
        expect(rows.every(({ problem }) => problem === undefined)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  // design.md §1, Technology.
  test('reads a well-formed document in chunks as csv-parse reads the whole document', async () => {
    await fc.assert(
      fc.asyncProperty(tableAndDocument, cuts, async ({ document }, shares) => {
        const expected = parse(document, csvParseOptions).filter(hasValue)
        const rows = await read(cut(document, shares))
        expect(rows.map(({ cells }) => cells.map((cell) => cell.toString('latin1')))).toEqual(expected)
      }),
      { numRuns: 300 },
    )
  })

  test('every row of a damaged file without a problem has the cells that csv-parse finds', async () => {
    const file = Buffer.from(
      'u1,"Doe, Ann",12,2024-01-05\r\nu2,"say ""hi""",-1.5,\nu3,,"",x\r\n"u4","two\nlines",7,"é"\nu5,a"b,  ,\n',
    )
    const damage = fc.record({
      at: fc.nat(file.length),
      cut: fc.nat(3),
      insert: fc.constantFrom('"', '""', ',', '\n', '\r\n', '\r', '\0', '\xff', '"\n', ',"', 'x'),
    })
    const damaged = fc.array(damage, { maxLength: 6 }).map((all) =>
      all.reduce((bytes, { at, cut: length, insert }) => {
        return Buffer.concat([bytes.subarray(0, at), Buffer.from(insert, 'latin1'), bytes.subarray(at + length)])
      }, file),
    )
    await fc.assert(
      fc.asyncProperty(damaged, cuts, async (document, shares) => {
        for await (const block of readRows(sourceOf(cut(document, shares)))) {
          for (const row of block.rowEnd.keys()) {
            if (problemOf(block, row) !== undefined) continue
            const raw = block.bytes.toString('latin1', rowOffset(block, row), rowOffset(block, row + 1))
            // csv-parse knows only some line breaks. CRs at the end of a record always belong to its line break, and
            // those before a record to blank lines.
            const lines = Buffer.from(raw.replace(/^(?:\r*\n)+/, '').replace(/\r*\n?$/, '\n'), 'latin1')
            const [cells] = parse(lines, csvParseOptions).filter(hasValue)
            expect(cellsOf(block, row).map((cell) => cell.toString('latin1'))).toEqual(cells)
          }
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('reads the same rows from any document, whatever the chunks', async () => {
    await fc.assert(
      fc.asyncProperty(anyDocument, cuts, async (document, shares) => {
        expect(await read(cut(document, shares))).toEqual(await read([document]))
      }),
      { numRuns: 500 },
    )
  })

  test('resumes after any row with exactly the following rows', async () => {
    await fc.assert(
      fc.asyncProperty(anyDocument, fc.nat(20), fc.nat(1000), async (document, index, offset) => {
        const all = await read([document], { position: offset })
        const row = all[index % Math.max(all.length, 1)]
        fc.pre(row !== undefined)
        const rest = await read([document.subarray(row.end - offset)], { position: row.end })
        expect(rest).toEqual(all.slice(all.indexOf(row) + 1))
      }),
      { numRuns: 500 },
    )
  })

  describe('with a number of columns', () => {
    test('does not split what follows the last column: it is one cell with the bytes of the file', async () => {
      const text = 'a,b\na,b,c\na,b,\na,b,"c,""d""",e\n"a",b,"c\nd"\n"a",b"c,d\nx,"y,z",w,v,"u\n'
      expect(await readText(text, { columns: 2 })).toEqual([
        ['a', 'b'],
        ['a', 'b', 'c'],
        ['a', 'b', ''],
        ['a', 'b', '"c,""d""",e'],
        ['a', 'b', '"c\nd"'],
        ['a', 'b"c', 'd'],
        ['(unclosed quote)', 'x', '"y', 'z",w,v,"u'],
      ])
    })

    test('rows of a million commas have one cell more than there are columns', async () => {
      const bytes = Buffer.from(`u${','.repeat(2 ** 20 - 2)}\n`.repeat(3))
      for await (const block of readRows(sourceOf([bytes]), { columns: 2 })) {
        for (const row of block.rowEnd.keys()) expect(new RowSplitter().split(block, row).count).toBe(3)
      }
    })

    test('the columns of any document have the same cells as without a limit, and the line of each row is the same', async () => {
      await fc.assert(
        fc.asyncProperty(
          anyDocument,
          fc.integer({ min: 1, max: 3 }),
          fc.integer({ min: -1, max: 0 }),
          async (document, columns, leftOut) => {
            const [limited] = await Array.fromAsync(readRows(sourceOf([document]), { columns }))
            const [whole] = await Array.fromAsync(readRows(sourceOf([document])))
            expect(limited?.count).toBe(whole?.count)
            if (limited === undefined || whole === undefined) return
            for (let row = 0; row < whole.count; row++) {
              const cells = cellsOf(whole, row)
              expect(cellsOf(limited, row).slice(0, columns)).toEqual(cells.slice(0, columns))
              expect(cellsOf(limited, row)).toHaveLength(Math.min(cells.length, columns + 1))
              expect(lineOf(limited, row, leftOut)).toEqual(lineOf(whole, row, leftOut))
            }
          },
        ),
        { numRuns: 2000 },
      )
    })
  })

  test('returns no block without rows', async () => {
    const blocks = await Array.fromAsync(
      readRows(sourceOf(['\n', 'a\n', ',\n', '\r\n'].map((line) => Buffer.from(line)))),
    )
    expect(blocks.map(({ count }) => count)).toEqual([1])
  })

  test('ends its source when the reader stops early', async () => {
    const source = sourceOf([Buffer.from('a\n'), Buffer.from('b\n'), Buffer.from('c\n')])
    for await (const _ of readRows(source)) break
    expect(source).toMatchObject({ ended: true, chunksRead: 1 })
  })

  test('passes through an error of its source', async () => {
    async function* failing() {
      yield Buffer.from('a\n')
      throw new Error('connection lost')
    }
    await expect(Array.fromAsync(readRows(failing()))).rejects.toThrow('connection lost')
  })
})
