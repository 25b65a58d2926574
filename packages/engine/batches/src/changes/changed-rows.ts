import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { type RawBuilder, sql } from '@sluice/database'
import { ByteWriter } from '@sluice/profiles'
import { lengthBytes, Pairs } from '../documents/pairs.ts'
import type { RowOfBatch } from '../documents/profile-batch.ts'

/*
 * The short form of rows that change something, in which Postgres keeps them until the changes file is made. A row is
 * its number in the file in eight bytes, the length of its user ID in four bytes, the ID, and two documents
 * (`pairs.ts`): the values of the changed keys before and after it. One row takes fewer bytes so than its lines in the
 * file, and Postgres can write it as well as this process.
 *
 * This process compresses what it writes, to a sixth. Otherwise, storing and returning the rows of a first import would
 * add 60 % to the CPU time that Postgres spends on the import.
 */

/** Bytes of a row, to begin with. */
const usualBytes = 256
const numberBytes = 8

/** Writes rows that are the first of their users: they have no values before. */
export class FirstRowsWriter {
  readonly #writer: ByteWriter

  /** Accepts about how many rows it will write. */
  constructor(rows: number) {
    this.#writer = new ByteWriter(rows * usualBytes)
  }

  /** Adds a row: its number in the file, the user's ID, and its values. */
  add(number: number, row: RowOfBatch): void {
    const writer = this.#writer
    writer.writeInt64(number)
    writer.writeInt32(row.idEnd - row.idStart)
    writer.write(row.ids, row.idStart, row.idEnd)
    writer.writeInt32(0)
    writer.write(row.documents, row.documentStart, row.documentEnd)
  }

  /** Returns the rows in their short form, compressed. */
  async content(): Promise<Buffer> {
    return await compress(this.#writer.bytes.subarray(0, this.#writer.length), fastest)
  }
}

const [compress, decompress] = [promisify(zstdCompress), promisify(zstdDecompress)]
/** Zstandard's level 1 is twice as fast as gzip's, and its result is smaller. */
const fastest = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/** The first byte of Zstandard's data. Uncompressed rows begin with 0: no number has eight bytes. */
const zstdStart = 0x28

/**
 * Returns an expression for rows in their short form (bytea), in a query over rows with `user_id`, `before` and
 * `after`. Accepts the column with the number of a row.
 */
export function changedRowsOf(number: RawBuilder<unknown>): RawBuilder<unknown> {
  const bytes = (document: RawBuilder<unknown>) => sql`hstore_send(coalesce(${document}, ''))`
  return sql`string_agg(int8send(${number}) || int4send(octet_length(user_id)) || convert_to(user_id, 'UTF8')
    || ${bytes(sql`before`)} || ${bytes(sql`after`)}, '' order by ${number})`
}

/** A row in its short form. The reader reuses the object for each row. */
export interface ChangedRow {
  number: number
  /** Range of the user's ID in the content. */
  idStart: number
  idEnd: number
  /** Offsets of the two documents in the content. */
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
    row.number = content.readUIntBE(row.end + 2, numberBytes - 2)
    row.idStart = row.end + numberBytes + lengthBytes
    row.idEnd = row.idStart + content.readInt32BE(row.end + numberBytes)
    row.before = row.idEnd
    row.after = endOfDocument(content, row.before)
    row.end = endOfDocument(content, row.after)
    yield row
  }
}

function endOfDocument(content: Buffer, start: number): number {
  const pairs = new Pairs(content, start)
  while (pairs.next()) {}
  return pairs.end
}
