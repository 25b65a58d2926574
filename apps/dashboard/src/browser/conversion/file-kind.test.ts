import { expect, test } from 'vitest'
import { fileKind, kindProblem } from './file-kind.ts'

test.each([
  ['an Excel workbook', 'PK\x03\x04\x14\0\x06\0\b\0\0\0!\0[Content_Types].xml', 'workbook'],
  ['a LibreOffice workbook', 'PK\x03\x04\x14\0\0mimetypeapplication/vnd.oasis.opendocument.spreadsheet', 'workbook'],
  ['an old Excel workbook', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'old workbook'],
  ['another archive', 'PK\x03\x04\x14\0\0people.csv', 'archive'],
  ['a compressed file', '\x1f\x8b\b', 'gzip'],
  ['CSV', 'user_id,name\n', 'text'],
  ['nothing', '', 'text'],
] as const)('%s is recognised by its first bytes', (_, start, kind) => {
  expect(fileKind(Uint8Array.from(Buffer.from(start, 'latin1')))).toBe(kind)
  expect(kindProblem(kind) === undefined).toBe(kind === 'text' || kind === 'gzip')
})
