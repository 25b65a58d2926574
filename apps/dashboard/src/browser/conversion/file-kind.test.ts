import { expect, test } from 'vitest'
import { fileKind, kindProblem } from './file-kind.ts'

test.each([
  ['an Excel workbook', 'PK\x03\x04\x14\0\x06\0\b\0\0\0!\0[Content_Types].xml', 'workbook'],
  ['a LibreOffice workbook', 'PK\x03\x04\x14\0\0mimetypeapplication/vnd.oasis.opendocument.spreadsheet', 'workbook'],
  ['an Excel workbook that begins with its sheets', 'PK\x03\x04\x14\0\0xl/workbook.xml', 'workbook'],
  ['an Excel workbook that begins with its properties', 'PK\x03\x04\x14\0\0docProps/app.xml', 'workbook'],
  ['an archive with such a name far behind', `PK\x03\x04${'x'.repeat(4_092)}xl/`, 'archive'],
  ['an old Excel workbook', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'old workbook'],
  ['another archive', 'PK\x03\x04\x14\0\0people.csv', 'archive'],
  ['a compressed file', '\x1f\x8b\b', 'gzip'],
  ['CSV', 'user_id,name\n', 'text'],
  ['CSV that begins like an archive', 'PK,name\n', 'text'],
  ['nothing', '', 'text'],
] as const)('%s is recognised by its first bytes', (_, start, kind) => {
  expect(fileKind(Uint8Array.from(Buffer.from(start, 'latin1')))).toBe(kind)
  expect(kindProblem(kind) === undefined).toBe(kind === 'text' || kind === 'gzip')
})

test('a person reads what the file is, and how it becomes CSV', () => {
  for (const kind of ['workbook', 'old workbook'] as const) expect(kindProblem(kind)).toMatch(/workbook.*Save As/)
  expect(kindProblem('archive')).toMatch(/ZIP archive.*Unpack.*Save As/)
})
