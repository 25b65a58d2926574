import { gzipSync } from 'node:zlib'
import { hostile } from '../../dashboard/hostile.ts'
import { germanExcel, unicodeText } from '../../dashboard/spreadsheet-files.ts'

const usual: Record<string, string> = { email: 'anna@example.com', url: 'http://127.0.0.1:9/hook' }
const words = ['user-1', 'user-2\nnobody', 'plan', '7', '10', '5/10m', 'as-is', 'Ulm']
const nasty = ['', ' ', '\u0000', '-1', '1.5e400', '%00%', '../..', "' or 1=1 --", '=1+1', 'a@b', 'ftp://a:b@[::1]:0/']
const long = ['9'.repeat(20), 'i'.repeat(255), 'W'.repeat(256), 'x y '.repeat(3_000), 'é\u0301 \u202eאב', '👩‍👩‍👧‍👧']

/** Returns values for a field: ordinary ones, and ones that a form must refuse or store as they are. */
export function valuesFor(type: string): readonly string[] {
  if (type === 'number') return ['0', '1', '-1', '1e9', '2.5', '9'.repeat(20)]
  if (type === 'date') return ['2026-02-28', '2024-02-29', '0001-01-01', '9999-12-31']
  return [...words, ...nasty, ...long, hostile, ...words.map((word) => usual[type] ?? word)]
}

export const addressParts = ['0', '-1', '9'.repeat(20), 'x', '%00', '%E0%A4%A', '%2e%2e', '1e3', 'é'.repeat(300)]

const quoted = `"${hostile.replaceAll('"', '""')}"`
const rows = 'user_id,plan,age\nuser-1,gold,5\nuser-2,free,x\nuser-3,,7\n'
const many = Array.from({ length: 600 }, (_, index) => `key-${index}`)
const contents: Record<string, string | Buffer> = {
  'people.csv': rows,
  'new.csv': `user_id,city,born\n${many.map((user) => `${user},"a ""b""",2026-01-01\nuser-7,${user},\n`).join('')}`,
  'people.csv.gz': gzipSync(rows),
  'empty.csv': '',
  'open-quote.csv': 'user_id,plan\nuser-1,"gold\n',
  'wide.csv': `user_id,${many.join()}\nuser-1\n`,
  'german.csv': germanExcel,
  'unicode.txt': unicodeText,
  'broken.csv.gz': gzipSync(rows).subarray(0, 20),
  [`${hostile} é👩.csv`]: `user_id,${quoted}\nuser-1,${quoted}\n`,
}

export const files = Object.entries(contents).map(([name, content]) => {
  return { name, mimeType: name.endsWith('gz') ? 'application/gzip' : 'text/csv', buffer: Buffer.from(content) }
})
