import { limits } from '@sluice/contract'
import { cellsOf, problemOf, readHeader, readRows } from '@sluice/csv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Dialect, headerFormProblem, RecordReader, type SourceRecord } from './record-reader.ts'
import { writeRecord } from './record-writer.ts'

const comma: Dialect = { separator: ',', lineBreak: '\n' }

/** Reads a text that arrives in pieces. */
function read(pieces: readonly string[], dialect: Dialect = comma): SourceRecord[] {
  const reader = new RecordReader(dialect)
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
      const problem = problemOf(block, row)
      const cells = cellsOf(block, row).map(String)
      records.push(problem === undefined ? { cells } : { cells, problem })
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
    [
      'with U+FEFF at the start of a row',
      'a,b\n\ufeffx,y\n',
      comma,
      [
        ['a', 'b'],
        ['\ufeffx', 'y'],
      ],
    ],
    ['with doubled quotes between letters', '"é""é",ü,x\n', comma, [['é"é', 'ü', 'x']]],
    ['with characters of one to four bytes', 'Àa,ß€,😀,x\n', comma, [['Àa', 'ß€', '😀', 'x']]],
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

  test('in the same way with another separator', () => {
    const swapped = (text: string) => text.replaceAll(/[,;]/g, (sign) => (sign === ',' ? ';' : ','))
    fc.assert(
      fc.property(anyPieces, (pieces) => {
        const records = read(pieces).map((record) => ({ ...record, cells: record.cells.map(swapped) }))
        expect(read(pieces.map(swapped), { separator: ';', lineBreak: '\n' })).toEqual(records)
      }),
      { numRuns: 1_000 },
    )
  })

  test('in the same way with CR as line break', () => {
    const withCr = (text: string) => text.replaceAll('\n', '\r')
    fc.assert(
      fc.property(anyPieces, (pieces) => {
        const withoutCr = pieces.map((piece) => piece.replaceAll('\r', ''))
        const records = read(withoutCr).map((record) => ({ ...record, cells: record.cells.map(withCr) }))
        expect(read(withoutCr.map(withCr), { separator: ',', lineBreak: '\r' })).toEqual(records)
      }),
      { numRuns: 1_000 },
    )
  })

  test('up to the longest record; a longer record is cut, and the next line is read', async () => {
    const long = `é;"${'x'.repeat(limits.recordBytes)}`
    const records = read([`a\n${long}`, `${long}\nb\n`], { separator: ';', lineBreak: '\n' })
    expect(records).toEqual([
      { cells: ['a'] },
      { cells: [long.slice(0, 1_023)], problem: 'too long' },
      { cells: ['b'] },
    ])
    const written = await importReads(records.map(writeRecord).join(''))
    expect(written[1]?.cells.join(',')).toBe(long.slice(0, 1_023))
    expect(written.map(({ problem }) => problem)).toEqual([undefined, 'too long', undefined])
  })

  test('up to the longest record, also if that is the header', () => {
    const long = 'x'.repeat(limits.recordBytes + 1)
    expect(read([`\n${long}\nb\n`])).toEqual([{ cells: ['x'.repeat(1_022)], problem: 'too long' }, { cells: ['b'] }])
  })
})

describe('a written record', () => {
  test.each([
    ['u1,""b,c', ['u1', '"b', 'c']],
    ['""x', ['"x']],
    ['u1,"" ",c', ['u1', '""', 'c']],
    ['u1,"" ,c', ['u1', '"', 'c']],
    ['u1,"" ', ['u1', '"']],
    ['"a,b",""c"d', ['a,b', '"c"d']],
    ['u1,""a b', ['u1', '"a\nb']],
  ])(
    'with a quote that is not closed is the line %s, which keeps its text and breaks for the import',
    async (line, cells) => {
      const written = writeRecord({ cells, problem: 'unclosed quote' })
      expect(written).toBe(`${line}\n`)
      expect(await importReads(`${written}x\n`)).toMatchObject([{ problem: 'unclosed quote' }, { cells: ['x'] }])
    },
  )

  test('of one empty cell is a line that is not blank', () => {
    expect(writeRecord({ cells: [''] })).toBe('""\n')
  })

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

test.each<[string, string, Dialect, string | undefined]>([
  ['a broken quote', 'user_id,"plan" name\nu1,gold\n', comma, 'quote is not closed in header'],
  ['a broken quote, with semicolons', 'user_id;"plan" name\nu1;gold\n', { ...comma, separator: ';' }, 'quote is not'],
  ['a quote that never closes', 'user_id,"plan\nu1,gold\n', comma, 'quote is not closed in header'],
  [
    'a quote that never closes in a large file',
    `user_id,"plan${'\n1'.repeat(60_000)}`,
    comma,
    'header size over 102400',
  ],
  ['no bytes', '\r\n\n', comma, 'empty file'],
  ['no line break', 'user_id,plan', comma, 'newline character not found'],
  ['a header that is too large', `user_id,${'é'.repeat(60_000)}\n`, comma, 'header size over 102400 bytes'],
  ['lines that end with CR', 'user_id\r"u1"\r', { ...comma, lineBreak: '\r' }, undefined],
  ['quoted names', '"user_id","a ""b""\r\n"\r\r\nu1,"\n', comma, undefined],
])('the form of the header of a file with %s', (_, text, dialect, problem) => {
  const found = headerFormProblem(text, true, dialect)
  if (problem === undefined) expect(found).toBeUndefined()
  else expect(found).toContain(problem)
})

test('the start of a file may end within its header', () => {
  expect(headerFormProblem('user_id,pl', false, comma)).toBeUndefined()
})

test('the import refuses the form of any header for the same reason', async () => {
  const parts = fc.constantFrom('user_id', 'a', ',', '"', '""', '\r', '\n', '\r\n', '",', ',"')
  const forms = /^(empty file|newline character not found|quote is not closed in header)$/
  await fc.assert(
    fc.asyncProperty(fc.array(parts, { maxLength: 12 }), async (texts) => {
      const text = texts.join('')
      const source = async function* () {
        yield Buffer.from(text)
      }
      const refused = await readHeader(source()).then(
        () => '',
        (error: Error) => error.message,
      )
      expect(headerFormProblem(text, true, comma) ?? 'accepted').toBe(forms.test(refused) ? refused : 'accepted')
    }),
    { numRuns: 2_000 },
  )
})
