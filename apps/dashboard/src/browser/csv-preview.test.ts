import { cellsOf, readHeader, readRows } from '@sluice/csv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readPreview } from './csv-preview.ts'

describe('readPreview', () => {
  test.each([
    [
      'rows',
      'a,b\n1,2\n3,4\n',
      ['a', 'b'],
      [
        ['1', '2'],
        ['3', '4'],
      ],
    ],
    ['no line break at the end', 'a,b\n1,2', ['a', 'b'], [['1', '2']]],
    ['quotes, commas and line breaks in values', 'a,b\r\n"x, ""y""","l1\nl2"\r\n', ['a', 'b'], [['x, "y"', 'l1\nl2']]],
    ['a quote inside a plain value', 'a\nx"y\n', ['a'], [['x"y']]],
    ['blank lines', '\n\r\na\n\n1\n\n', ['a'], [['1']]],
    ['rows in which every value is empty', 'a,b\n"",\r\n1,\n,,\n', ['a', 'b'], [['1', '']]],
    ['a byte order mark', '\uFEFFa\n1\n', ['a'], [['1']]],
    ['a trailing empty value', 'a,b\n1,', ['a', 'b'], [['1', '']]],
    ['a quote that never closes, which costs one line', 'a\n1\n"2\n3\n', ['a'], [['1'], ['3']]],
  ])('%s', (_, text, header, rows) => {
    expect(readPreview(text, true, 100)).toMatchObject({ header, rows })
  })

  test('returns undefined if there is no header', () => {
    expect(readPreview('', true, 10)).toBeUndefined()
    expect(readPreview('\n\n', true, 10)).toBeUndefined()
    expect(readPreview('"a,b\n1,2\n', true, 10)).toBeUndefined()
  })

  test('omits a last row that may be incomplete, and rows beyond the limit', () => {
    expect(readPreview('a\n1\n23', false, 100)?.rows).toEqual([['1']])
    expect(readPreview('a\n1\n2\n3\n', true, 2)).toEqual({ header: ['a'], rows: [['1'], ['2']], rowCount: 3 })
  })

  test('reads well-formed files in the same way as the import', async () => {
    const cell = fc.oneof(
      fc.constantFrom('', ' ', '"', '""', ',', 'a"b', '\r', '\n', 'x\r\ny', '2024-01-01', 'ä😀'),
      fc.string({ unit: 'grapheme', maxLength: 4 }).filter((text) => !text.includes('\0')),
    )
    const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(rows, fc.constantFrom('\n', '\r\n'), fc.boolean(), async (rows, lineBreak, quoteAll) => {
        const table = [['user_id', 'b'], ...rows]
        const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
        const line = (cells: string[]) =>
          cells.map((text) => (quoteAll || /[",\r\n]/.test(text) ? quote(text) : text)).join(',') + lineBreak
        const text = table.map(line).join('')
        const source = async function* () {
          yield Buffer.from(text)
        }
        const { columns, end } = await readHeader(source())
        const read: string[][] = []
        const data = async function* () {
          yield Buffer.from(text).subarray(end)
        }
        for await (const block of readRows(data())) {
          for (let row = 0; row < block.count; row++) read.push(cellsOf(block, row).map(String))
        }
        expect(readPreview(text, true, 100)).toEqual({ header: columns, rows: read, rowCount: read.length })
      }),
    )
  })
})
