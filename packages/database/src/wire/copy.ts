import { CompiledQuery } from 'kysely'
import type { Schema } from '../schema.ts'

/** The header of a binary `copy`: its signature, no flags, no extension. */
const signature = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')

/** The number of columns -1, which ends the rows. */
const trailer = Buffer.from([0xff, 0xff])

const copyDone = Buffer.from([0x63, 0, 0, 0, 4])

/** The messages that carry the rows of a `copy`, in order. They are the only parameter of its statement. */
export class CopyMessages {
  readonly parts: readonly Buffer[]

  constructor(rows: Buffer) {
    const copyData = Buffer.alloc(5)
    copyData[0] = 0x64
    copyData.writeInt32BE(4 + signature.length + rows.length + trailer.length, 1)
    this.parts = [copyData, signature, rows, trailer, copyDone]
  }
}

/**
 * Builds a statement that inserts rows by `copy`, which costs Postgres a fifth less than the cheapest `insert`. Only
 * `writeTogether` can send it. Columns that are not named get their defaults.
 *
 * Accepts the rows in the binary format of `copy`, without separators. Each row is the number of its columns in two
 * bytes, then its columns. Each column is its length in four bytes, -1 for NULL, and its bytes. The rows are sent
 * without a copy, so the caller must not change them before the answer.
 */
export function copyInto<Table extends keyof Schema>(
  table: Table,
  columns: readonly (keyof Schema[Table] & string)[],
  rows: Buffer,
): CompiledQuery {
  return CompiledQuery.raw(`copy ${table} (${columns.join(', ')}) from stdin (format binary)`, [new CopyMessages(rows)])
}
