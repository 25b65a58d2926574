import { cellsOf, readHeader, readRows } from '@sluice/csv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Conversion, OtherEncoding } from './conversion.ts'
import { needsConversion, type Plan, unchangedColumn } from './plan.ts'

const plan = (changes: Partial<Plan> = {}): Plan => ({
  encoding: 'utf-8',
  dialect: { separator: ',', lineBreak: '\n' },
  prefixLength: 0,
  columns: [],
  clearMarker: '',
  ...changes,
})
const semicolons = { separator: ';', lineBreak: '\n' } as const

/** Converts bytes that arrive in chunks of `chunkBytes`. */
async function convert(bytes: Uint8Array, plan: Plan, chunkBytes = 1_000): Promise<Buffer> {
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, index) =>
    bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes),
  )
  const converted = ReadableStream.from(chunks).pipeThrough(new TransformStream(new Conversion(plan)))
  return Buffer.concat(await Array.fromAsync(converted))
}

const text = async (source: string, given: Plan) => (await convert(Buffer.from(source), given)).toString()

test('only files that an import reads as they are need no conversion', () => {
  const columns = [unchangedColumn('user_id')]
  expect(needsConversion(plan({ columns }))).toBe(false)
  const changes: Partial<Plan>[] = [
    { encoding: 'windows-1252' },
    { dialect: semicolons },
    { dialect: { separator: ',', lineBreak: '\r' } },
    { prefixLength: 7 },
    { columns: [{ ...unchangedColumn('ID'), key: 'user_id' }] },
    { columns: [{ ...unchangedColumn('a'), isLeftOut: true }] },
    { columns: [{ ...unchangedColumn('a'), form: 'decimal-comma' }] },
  ]
  for (const change of changes) expect(needsConversion(plan({ columns, ...change }))).toBe(true)
})

test('columns are renamed, left out and converted; values without the form, and the marker, stay', async () => {
  const columns = [
    { ...unchangedColumn('ID'), key: 'user_id' },
    { ...unchangedColumn('secret'), isLeftOut: true },
    { ...unchangedColumn('size'), form: 'decimal-comma' as const },
    { ...unchangedColumn('born'), form: 'day-first' as const },
  ]
  const source =
    'sep=;\r\nID;secret;size;born\r\nu1;x;1.234,5;31.12.1990\r\nu2;y;"n/a";1.1.0001\r\nu3;z\r\nu4;;1;2;too many\r\n'
  const given = plan({ dialect: semicolons, prefixLength: 7, columns, clearMarker: '1.1.0001' })
  expect(await text(source, given)).toBe(
    'user_id,size,born\nu1,1234.5,1990-12-31\nu2,n/a,1.1.0001\nu3,,\nu4,1,2,too many\n',
  )
  expect((await convert(Buffer.from(source), given, 3)).toString()).toBe(await text(source, given))
})

test('a file whose encoding alone is another keeps its text, quotes and line breaks', async () => {
  const source = 'user_id,name\r\nu1,"Müller"\r\n"u2,broken\r\n'
  const given = plan({ encoding: 'windows-1252' })
  expect((await convert(Buffer.from(source, 'latin1'), given, 3)).toString()).toBe(source)
})

test('a chunk of any size is converted as a whole', async () => {
  const source = `user_id;a\n${'u1;é\n'.repeat(50_000)}`
  const expected = source.replaceAll(';', ',')
  expect((await convert(Buffer.from(source), plan({ dialect: semicolons }), 1_000_000)).toString()).toBe(expected)
  const latin1 = plan({ encoding: 'windows-1252' })
  expect((await convert(Buffer.from(source, 'latin1'), latin1, 1_000_000)).toString()).toBe(source)
})

test('a row that is too long keeps its first bytes, and stays too long for the import', async () => {
  const columns = [{ ...unchangedColumn('a'), isLeftOut: true }, unchangedColumn('user_id')]
  const converted = await text(`a,user_id\nu1,${'x'.repeat(2 ** 20)}\ny,u2\n`, plan({ columns }))
  const [header, long, last] = converted.split('\n')
  expect([header, last]).toEqual(['user_id', 'u2'])
  expect(long).toHaveLength(2 ** 20 + 1)
  expect(long?.trimEnd()).toBe(`u1,${'x'.repeat(1_021)}`)
})

test('a byte order mark is dropped, and characters that chunks cut stay whole', async () => {
  const source = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('user_id\tname\r\nu1\t😀é\r\n', 'utf16le')])
  const given = plan({ encoding: 'utf-16le', dialect: { separator: '\t', lineBreak: '\n' } })
  expect((await convert(source, given, 1)).toString()).toBe('user_id,name\nu1,😀é\n')
})

describe('bytes of another encoding', () => {
  test.each([
    ['within the file', [...Buffer.from('user_id;a\nu1;'), 0xe9, 0x0a]],
    ['at its end', [...Buffer.from('user_id;a\nu1;'), 0xc3]],
  ])('%s end the conversion instead of becoming another character', async (_, bytes) => {
    await expect(convert(Uint8Array.from(bytes), plan({ dialect: semicolons }), 11)).rejects.toThrow(OtherEncoding)
  })

  test('are reported with the number of records before them', async () => {
    const bytes = Buffer.concat([Buffer.from('user_id;a\nu1;x\nu2;y\n'), Buffer.from([0xe9])])
    await expect(convert(bytes, plan({ dialect: semicolons }), 20)).rejects.toMatchObject({
      name: 'OtherEncoding',
      message: 'bytes of another encoding after 3 records',
      records: 3,
    })
    // Without another change, the records are not read.
    await expect(convert(Buffer.from([0xc3]), plan({ encoding: 'euc-kr' }))).rejects.toMatchObject({ records: 0 })
  })
})

test('an import reads the cells of the file, whatever its encoding, separator and line break', async () => {
  const cell = fc.oneof(
    fc.constantFrom('', ' ', '"', ',', ';', '\t', '\n', 'x\r\ny', '1,5'),
    fc.string({ unit: fc.constantFrom(...'aäéß€ñ"'), maxLength: 5 }),
  )
  const row = fc.tuple(cell, cell, cell)
  const encodings = ['utf-8', 'utf-16le', 'windows-1252'] as const
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { maxLength: 6 }),
      fc.constantFrom(...encodings),
      fc.constantFrom(',', ';', '\t'),
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.integer({ min: 1, max: 50 }),
      async (rows, encoding, separator, lineBreak, chunkBytes) => {
        const table = [['user_id', 'b', 'c'], ...rows]
        const quote = (text: string) => (/[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
        const source = table.map((cells) => cells.map(quote).join(separator) + lineBreak).join('')
        const dialect = { separator, lineBreak: lineBreak === '\r' ? '\r' : '\n' } as const
        const converted = await convert(encode(source, encoding), plan({ encoding, dialect }), chunkBytes)
        expect(await readTable(converted)).toEqual(table.filter((cells) => cells.some((cell) => cell !== '')))
      },
    ),
  )
})

function encode(text: string, encoding: 'utf-8' | 'utf-16le' | 'windows-1252'): Uint8Array {
  if (encoding !== 'windows-1252') return Buffer.from(text, encoding === 'utf-8' ? 'utf8' : 'utf16le')
  return Uint8Array.from(text, (character) => (character === '€' ? 0x80 : (character.codePointAt(0) ?? 0)))
}

/** Reads a file as the import does. */
async function readTable(file: Buffer): Promise<string[][]> {
  const from = (start: number) =>
    (async function* () {
      yield file.subarray(start)
    })()
  const { columns, end } = await readHeader(from(0))
  const table = [columns]
  for await (const block of readRows(from(end))) {
    for (let row = 0; row < block.count; row++) table.push(cellsOf(block, row).map(String))
  }
  return table
}
