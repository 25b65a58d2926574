import assert from 'node:assert/strict'
import { gunzipSync, gzipSync } from 'node:zlib'
import { cellsOf, decompress, FileError, problemOf, readHeader, readRows } from '@sluice/csv'
import { referenceRecords } from './csv-reference.ts'
import { longestCompared, outcomeOf, pieces, sometimes, streamOf, type Target } from './target.ts'

/** Maximum length of the message of a file's problem, characters: ten names of 256 characters, and the text around. */
const longestMessage = 4_096

function fileProblem(error: unknown): string | undefined {
  if (!(error instanceof FileError)) return undefined
  assert(error.message.length <= longestMessage, 'the message of a file is too long')
  return error.message
}

const csvWords = ['"', '""', '",', ',"', '"\n', '\r\n', '\r', '\n', ',', 'user_id', '\xef\xbb\xbf', '\xc3\xa9', 'a']

/**
 * Fuzzes the reader of CSV rows. Its rows are the same however the file is split, and equal to those of a naive reader.
 */
export const csvRows: Target = {
  name: 'csv-rows',
  dictionary: csvWords,
  seeds: [
    ...['"bob,35\nalice,"34"x\n"a"\r"b"\ncarol,1', 'alice,34\nbob,35\n', 'a,b,"c",d,"e\n'],
    '"alice","a ""b"", c"\r\n\r\n"bob","two\nlines"\n',
  ],
  async check(input, random) {
    const columns = sometimes([1, 2, 3], random)
    const whole = await readAll([input], columns)
    assert.deepEqual(await readAll(pieces(input, random), columns), whole)
    if (input.length > longestCompared) return
    assert.deepEqual(whole, referenceRecords(input.toString('latin1'), columns))
  },
}

async function readAll(chunks: readonly Buffer[], columns: number | undefined) {
  const rows: { cells: string[]; end: number; isBroken: boolean }[] = []
  for await (const block of readRows(streamOf(chunks), columns === undefined ? {} : { columns })) {
    for (let row = 0; row < block.count; row++) {
      const cells = cellsOf(block, row).map((cell) => cell.toString('latin1'))
      rows.push({ cells, end: block.rowEnd[row] ?? -1, isBroken: problemOf(block, row) === 'unclosed quote' })
    }
  }
  return rows
}

/**
 * Fuzzes the reader of CSV headers. Its result is the same however the file is split. An accepted header has the names
 * of the first record.
 */
export const csvHeader: Target = {
  name: 'csv-header',
  dictionary: [...csvWords, 'user_id,', '$', 'SERVICE_ERRORS', '\xff', '\0'],
  seeds: [
    ...['user_id,"a\n', 'SERVICE_ERRORS,user_id,a,a,,$name\n', 'user_id,age\nalice,34\n'],
    '\xef\xbb\xbf\r\n"user_id","first ""name""",\xc3\xa9\r\n',
  ],
  async check(input, random) {
    const read = (chunks: Buffer[]) => outcomeOf(() => readHeader(streamOf(chunks)), fileProblem)
    const whole = await read([input])
    assert.deepEqual(await read(pieces(input, random)), whole)
    if ('refusal' in whole) return
    const { columns, end } = whole.value
    const text = input.toString('latin1').replace(/^\xef\xbb\xbf/, '')
    const [first] = referenceRecords(text)
    assert.equal(end, (first?.end ?? 0) + input.length - text.length)
    assert.deepEqual(
      columns,
      first?.cells.map((cell) => Buffer.from(cell, 'latin1').toString()),
    )
    assert(columns.includes('user_id') && new Set(columns).size === columns.length)
  },
}

const uncompressedLimit = 262_144
const packed = gzipSync('user_id,age\nalice,34\n')

/**
 * Compressed files: accepted or refused for any pieces. Accepted bytes are those of zlib, within the limit.
 *
 * How many bytes precede an error depends on the pieces: zlib drops its last block of output.
 */
export const gzip: Target = {
  name: 'gzip',
  dictionary: ['\x1f\x8b\x08', '\0\0\0\0', '\xff\xff', '\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0'],
  seeds: [
    ...[packed, Buffer.concat([packed, gzipSync('bob,35\n')]), Buffer.concat([packed, Buffer.alloc(16)])],
    ...[
      'user_id\n',
      gzipSync(Buffer.alloc(uncompressedLimit + 1)),
      '\x1f\x8b\x08\x08\0\0\0\0\x02\xffpeople.csv\0K\xe4\x02\0',
    ],
  ],
  async check(input, random) {
    const whole = await uncompress([input])
    const cut = await uncompress(pieces(input, random))
    assert.equal('refusal' in cut, 'refusal' in whole)
    const [shorter, longer] = whole.bytes.length < cut.bytes.length ? [whole, cut] : [cut, whole]
    assert(longer.bytes.subarray(0, shorter.bytes.length).equals(shorter.bytes))
    if ('refusal' in whole) return
    assert(shorter.bytes.equals(longer.bytes))
    assert(gunzipSync(input).equals(whole.bytes))
  },
}

async function uncompress(chunks: readonly Buffer[]) {
  const parts: Buffer[] = []
  const outcome = await outcomeOf(async () => {
    for await (const part of decompress(streamOf(chunks), { gzip: true, limitBytes: uncompressedLimit }))
      parts.push(part)
  }, fileProblem)
  const bytes = Buffer.concat(parts)
  assert(bytes.length <= uncompressedLimit, `${bytes.length} bytes passed`)
  return { ...outcome, bytes }
}
