import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { type RawBuilder, sql } from '@sluice/database'
import { ByteWriter } from '@sluice/profiles'
import type { RowOfBatch } from '../documents/profile-batch.ts'
import { endOfString } from './json-members.ts'

/*
 * The short form of rows that change something, in which Postgres keeps them until the changes file is made: a line for
 * each row, with the number of the row in the file, its user ID as a JSON string, the values before it and the values
 * after it, separated by tabs. Both are JSON objects of the changed keys. JSON text has no tabs and line breaks of its
 * own. One row takes fewer bytes so than its lines in the file, and Postgres can write it as well as this process.
 *
 * This process compresses what it writes, to a sixth. Otherwise, storing and returning the rows of a first import would
 * add 60 % to the CPU time that Postgres spends on the import.
 */

const [tab, lineBreak] = [0x09, 0x0a]
/** Bytes of a row, to begin with. */
const usualBytes = 256
/** Bytes of a row's number and the tab after it, at most. */
const numberBytes = 24
const noValues = Buffer.from('\t{}\t')

/** Writes rows that are the first of their users: they have no values before. */
export class FirstRowsWriter {
  readonly #writer: ByteWriter

  /** Accepts about how many rows it will write. */
  constructor(rows: number) {
    this.#writer = new ByteWriter(rows * usualBytes)
  }

  /** Adds a row: its number in the file, the user's ID, and its values as a JSON document. */
  add(number: number, row: RowOfBatch): void {
    const writer = this.#writer
    writer.reserve(numberBytes)
    writer.length += writer.bytes.write(`${number}\t`, writer.length, 'latin1')
    writer.writeCell(row.ids, row.idStart, row.idEnd, 'string', true)
    writer.write(noValues)
    writer.write(row.documents, row.documentStart, row.documentEnd)
    writer.writeByte(lineBreak)
  }

  /** Returns the rows in their short form, compressed. */
  async content(): Promise<Buffer> {
    return await compress(this.#writer.bytes.subarray(0, this.#writer.length), fastest)
  }
}

const [compress, decompress] = [promisify(zstdCompress), promisify(zstdDecompress)]
/** Zstandard's level 1 is twice as fast as gzip's, and its result is smaller. */
const fastest = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/** The first byte of Zstandard's data. Uncompressed rows begin with a digit. */
const zstdStart = 0x28

/**
 * Returns an expression for rows in their short form (bytea), in a query over rows with `user_id`, `before` and
 * `after`. Accepts the column with the number of a row.
 */
export function changedRowsOf(number: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`convert_to(string_agg(${number} || e'\t' || to_json(user_id) || e'\t' || coalesce(before, '{}') || e'\t'
    || coalesce(after, '{}') || e'\n', '' order by ${number}), 'UTF8')`
}

/** A row in its short form. The reader reuses the object for each row. */
export interface ChangedRow {
  number: number
  /** Range of the user's ID in the content, without its quotes. */
  idStart: number
  idEnd: number
  /** Offsets of the two objects in the content. */
  before: number
  after: number
  /** Offset after the row. */
  end: number
}

/** Returns rows in their short form that may be compressed. */
export async function decompressedRows(content: Buffer): Promise<Buffer> {
  return content[0] === zstdStart ? await decompress(content, { chunkSize: 2 ** 20 }) : content
}

/** Reads rows in their short form, which are not compressed. */
export function* readChangedRows(content: Buffer): Generator<ChangedRow, void, void> {
  const row: ChangedRow = { number: 0, idStart: 0, idEnd: 0, before: 0, after: 0, end: 0 }
  while (row.end < content.length) {
    const numberEnd = content.indexOf(tab, row.end)
    row.number = Number(content.toString('latin1', row.end, numberEnd))
    row.idStart = numberEnd + 2
    row.idEnd = endOfString(content, numberEnd + 1)
    row.before = row.idEnd + 2
    row.after = content.indexOf(tab, row.before) + 1
    row.end = content.indexOf(lineBreak, row.after) + 1
    yield row
  }
}
