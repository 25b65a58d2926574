import { CompiledQuery } from 'kysely'
import type { Schema } from '../schema.ts'

/** What a binary `copy` begins with: its signature, no flags, no extension. */
const signature = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')

/** Stands where the number of columns of another row would. */
const lastRow = Buffer.from([0xff, 0xff])

const copyDone = Buffer.from([0x63, 0, 0, 0, 4])

/** The messages that bring rows to a `copy`, in order; they are the one parameter of its statement. */
export class CopyMessages {
  readonly parts: readonly Buffer[]

  constructor(rows: Buffer) {
    const copyData = Buffer.alloc(5)
    copyData[0] = 0x64
    copyData.writeInt32BE(4 + signature.length + rows.length + lastRow.length, 1)
    this.parts = [copyData, signature, rows, lastRow, copyDone]
  }
}

/**
 * A statement that inserts rows, for `writeTogether` alone: it costs Postgres a fifth less than the cheapest `insert`. Columns
 * that are not named get their defaults.
 *
 * Takes the rows in the binary format of `copy`, one behind the other: two bytes with the number of columns, then for each
 * its length, four bytes, -1 for NULL, and its bytes. They are sent as they are: they must not change until the answer is there.
 */
export function copyInto<Table extends keyof Schema>(
  table: Table,
  columns: readonly (keyof Schema[Table] & string)[],
  rows: Buffer,
): CompiledQuery {
  return CompiledQuery.raw(`copy ${table} (${columns.join(', ')}) from stdin (format binary)`, [new CopyMessages(rows)])
}
