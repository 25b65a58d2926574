import { cellsOf, readRows } from '@sluice/csv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Dialect, RecordReader, type SourceRecord } from './record-reader.ts'
import { writeRecord } from './record-writer.ts'

const comma: Dialect = { separator: ',', lineBreak: '\n' }

/** Reads a text that arrives in pieces. */
function read(pieces: readonly string[], dialect: Dialect = comma, maxLength?: number): SourceRecord[] {
  const reader = new RecordReader(dialect, maxLength)
  return [...pieces.flatMap((piece) => [...reader.push(piece)]), ...reader.end()]
}

/** Reads a text as the import does. */
async function importReads(text: string): Promise<SourceRecord[]> {
  const records: SourceRecord[] = []
  const source = async function* () {
    yield Buffer.from(text)
  }
  for await (const block of readRows(source())) {
    for (let row = 0; row < block.count; row++) {
      const problem = block.problems?.[row] ?? 0
      const cells = cellsOf(block, row).map(String)
      records.push(problem === 0 ? { cells } : { cells, problem: 'unclosed quote' })
    }
  }
  return records
}

/** Any text of the characters with a meaning in CSV, well-formed or not, in pieces. */
const anyPieces = fc.array(
  fc
    .array(fc.constantFrom('a', ',', ';', '"', '\r', '\n', '\r\n', '""', '",', '";', ',"', ';"', '"\n', 'é'), {
      maxLength: 12,
    })
    .map((parts) => parts.join('')),
  { maxLength: 5 },
)

describe('a file is read', () => {
  test.each<[string, string, Dialect, string[][]]>([
    [
      'with semicolons',
      'a;"b;c";\r\n1,5;2;\r\n',
      { separator: ';', lineBreak: '\n' },
      [
        ['a', 'b;c', ''],
        ['1,5', '2', ''],
      ],
    ],
    [
      'with tabs',
      'a\tb\n"x\ty"\t\n',
      { separator: '\t', lineBreak: '\n' },
      [
        ['a', 'b'],
        ['x\ty', ''],
      ],
    ],
    [
      'with lines that end with CR',
      'a,b\r"x\ry",2\r\r3,4',
      { separator: ',', lineBreak: '\r' },
      [
        ['a', 'b'],
        ['x\ry', '2'],
        ['3', '4'],
      ],
    ],
    [
      'with lines that end with CR, the last ones with CRLF and LF',
      'a,b\r1,"x"\r\n"y"\n3,4\n',
      { separator: ',', lineBreak: '\r' },
      [['a', 'b'], ['1', 'x'], ['y'], ['3', '4']],
    ],
    ['with several CRs before LF', 'a,b\r\r\n1,"x"\r\r\n2\r', comma, [['a', 'b'], ['1', 'x'], ['2']]],
    ['with lone CRs', 'a\n1\r2\n', comma, [['a'], ['1\r2']]],
    ['without rows of empty values, but with such a header', '""\n,\n""\n,x\n', comma, [[''], ['', 'x']]],
    ['with line breaks in quotes', 'a\n"x\r\ny"\n', comma, [['a'], ['x\r\ny']]],
    ['with quotes within a plain value', 'a,5" disk\n', comma, [['a', '5" disk']]],
    ['without a line break at the end', 'a,"b"', comma, [['a', 'b']]],
  ])('%s', (_, text, dialect, cells) => {
    expect(read([text], dialect)).toEqual(cells.map((cells) => ({ cells })))
    expect(read([...text], dialect), 'one character at a time').toEqual(cells.map((cells) => ({ cells })))
  })

  test('in the same way as by the import, whatever its text and wherever it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(anyPieces, async (pieces) => {
        expect(read(['h\n', ...pieces]).slice(1)).toEqual(await importReads(pieces.join('')))
      }),
      { numRuns: 1_000 },
    )
  })

  test('in the same way wherever it is cut, also if its records are too long', () => {
    fc.assert(
      fc.property(anyPieces, fc.integer({ min: 1, max: 20 }), (pieces, maxLength) => {
        expect(read(pieces, comma, maxLength)).toEqual(read([pieces.join('')], comma, maxLength))
      }),
      { numRuns: 2_000 },
    )
  })

  test('up to the longest record; a longer record is cut, and the next line is read', () => {
    const long = 'x'.repeat(30)
    expect(read([`a\n${long}`, `${long}\nb\n`], comma, 10)).toEqual([
      { cells: ['a'] },
      { cells: ['xxxxxxxxxxx'], problem: 'too long' },
      { cells: ['b'] },
    ])
    expect(read([`"${long}\n`, 'b\n'], comma, 10)).toMatchObject([{ problem: 'too long' }, { cells: ['b'] }])
    expect(read(['"x\n', `${long.slice(0, 8)}\n`, 'b"\n'], comma, 10)[0]).toMatchObject({ problem: 'unclosed quote' })
  })
})

describe('a written record', () => {
  test('is read by the import as the same cells', async () => {
    const cell = fc.oneof(
      fc.constantFrom('', ' ', '"', '""', ',', ';', 'a"b', '\r', 'x\r', '\n', 'x\r\ny', '\uFEFF', 'ä😀'),
      fc.string({ unit: 'grapheme', maxLength: 4 }).filter((text) => !text.includes('\0')),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 6 }), async (table) => {
        const records = table.filter((cells) => cells.some((cell) => cell !== '')).map((cells) => ({ cells }))
        expect(await importReads(records.map(writeRecord).join(''))).toEqual(records)
      }),
      { numRuns: 500 },
    )
  })

  test.each<Dialect>([
    { separator: ';', lineBreak: '\n' },
    { separator: '\t', lineBreak: '\n' },
    { separator: ',', lineBreak: '\r' },
  ])('of a file with %j keeps its cells, and its problem costs one line', async (dialect) => {
    await fc.assert(
      fc.asyncProperty(anyPieces, async (pieces) => {
        const records = read([`h${dialect.lineBreak}`, ...pieces], dialect)
        const written = await importReads(records.map(writeRecord).join(''))
        expect(written.map(({ problem }) => problem)).toEqual(records.map(({ problem }) => problem))
        const wellFormed = ({ problem }: SourceRecord) => problem === undefined
        expect(written.filter(wellFormed)).toEqual(records.filter(wellFormed))
      }),
      { numRuns: 1_000 },
    )
  })
})
