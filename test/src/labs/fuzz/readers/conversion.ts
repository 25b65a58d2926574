import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { cellsOf, problemOf, readRows } from '@sluice/csv'
import { Conversion, OtherEncoding } from '@sluice/dashboard-app/src/browser/conversion/conversion.ts'
import { detectDialect } from '@sluice/dashboard-app/src/browser/conversion/dialect.ts'
import {
  decodeStart,
  type Encoding,
  encodingOfMark,
  encodings,
} from '@sluice/dashboard-app/src/browser/conversion/encodings.ts'
import { fileKind } from '@sluice/dashboard-app/src/browser/conversion/file-kind.ts'
import { guessEncoding } from '@sluice/dashboard-app/src/browser/conversion/guess-encoding.ts'
import type { Plan } from '@sluice/dashboard-app/src/browser/conversion/plan.ts'
import { RecordReader } from '@sluice/dashboard-app/src/browser/conversion/record-reader.ts'
import { pick } from '../../../environment/random.ts'
import { outcomeOf, pieces, sometimes, streamOf, type Target } from './target.ts'

/**
 * Fuzzes the conversion of spreadsheet files. The result is the same however the file is split into pieces. It is
 * UTF-8, and has the cells that the page shows.
 */
export const conversion: Target = {
  name: 'conversion',
  dictionary: [
    ...['sep=;\n', ';', '\t', ',', '"', '""', '\r', '\n', '\r\n', 'user_id', '\xff\xfe', '\xfe\xff', '\xef\xbb\xbf'],
    ...['\0', '\x83\x40', '\x81', '\xe9', '\xd8\x3d', '"\n', '";', 'PK\x03\x04', '\x1f\x8b', '\x1a', '\x85'],
  ],
  seeds: [
    ...['sep=\t\nuser_id\ta\n1\t"x\n', 'user_id,\x96\xbc\x91O\nb,J\x83^J\x83i\n', 'user_id,name\ra,b\r'],
    ...['user_id;name\r\nalice;"a;b"\r\n', 'user_id;name\nb;J\xf6rg\n'],
    Buffer.from('\ufeffuser_id\tname\nb\tJörg\n', 'utf16le'),
  ],
  async check(input, random) {
    fileKind(input)
    const hints = {
      languages: [pick(['de-CH', 'ja', 'zh-TW', 'xx', ''], random)],
      isMostlyUtf8: false,
      hasMacLines: random(2) === 0,
    }
    const encoding = sometimes<Encoding>(encodings, random) ?? encodingOfMark(input) ?? guessEncoding(input, hints)
    const dialect = detectDialect(decodeStart(input, encoding, true))
    const plan: Plan = { encoding, dialect, prefixLength: dialect.prefixLength, columns: [], clearMarker: '' }
    const whole = await convert([input], plan)
    assert.deepEqual(await convert(pieces(input, random), plan), whole)
    if ('refusal' in whole) return
    assert(isUtf8(whole.value))
    const text = decodeStart(input, encoding, true).slice(plan.prefixLength)
    assert.deepEqual(await importedRecords(whole.value), shownRecords(text, plan))
  },
}

async function convert(chunks: readonly Buffer[], plan: Plan) {
  return await outcomeOf(
    async () => {
      const converted: Uint8Array[] = []
      const output = { enqueue: (bytes: Uint8Array) => converted.push(bytes) }
      const controller = output as unknown as TransformStreamDefaultController<Uint8Array>
      const conversion = new Conversion(plan)
      for (const chunk of chunks) conversion.transform(chunk, controller)
      conversion.flush(controller)
      return Buffer.concat(converted)
    },
    (error) => (error instanceof OtherEncoding ? 'encoding' : undefined),
  )
}

/** The cells of a record; undefined if it cannot be read. */
type Cells = string[] | undefined

async function importedRecords(bytes: Buffer): Promise<Cells[]> {
  const records: Cells[] = []
  for await (const block of readRows(streamOf([bytes]))) {
    for (let row = 0; row < block.count; row++) {
      records.push(problemOf(block, row) === undefined ? cellsOf(block, row).map(String) : undefined)
    }
  }
  return records
}

function shownRecords(text: string, { dialect }: Plan): Cells[] {
  const reader = new RecordReader(dialect)
  const records = [...reader.push(text), ...reader.end()]
  // The page shows a header of empty names, which the import refuses. Its reader of rows skips such a record.
  const read = records.filter(({ cells, problem }) => problem !== undefined || cells.some((cell) => cell !== ''))
  return read.map(({ cells, problem }) => (problem === undefined ? cells : undefined))
}
