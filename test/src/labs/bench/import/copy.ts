import { createReadStream } from 'node:fs'
import type { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { ValueType } from '@sluice/contract'
import type pg from 'pg'
import { from } from 'pg-copy-streams'
import type { MadeFile } from './file.ts'

/** Larger pieces were no faster. */
const pieceBytes = 2 ** 18

/**
 * Copies a file into a new unlogged table like `psql \copy`: the client reads the file and sends it, because the file
 * need not be on the server. `typeOf` returns the type of a column of the table.
 */
export async function copyFile(
  client: pg.Client,
  file: MadeFile,
  table: string,
  typeOf: (type: ValueType) => string,
): Promise<void> {
  const columns = file.columns.map(({ name, type }) => `${name} ${typeOf(type)}`)
  await client.query(`drop table if exists ${table}`)
  await client.query(`create unlogged table ${table} (user_id text collate "C", ${columns.join(', ')})`)
  const unpack: Transform[] = file.gzip ? [createGunzip()] : []
  const source = createReadStream(file.path, { highWaterMark: pieceBytes })
  await pipeline([source, ...unpack, client.query(from(`copy ${table} from stdin with (format csv, header)`))])
}

/** Copies lines into a table of one column. */
export async function copyLines(client: pg.Client, lines: Readable, table: string): Promise<void> {
  await pipeline(lines, client.query(from(`copy ${table} from stdin`)))
}
