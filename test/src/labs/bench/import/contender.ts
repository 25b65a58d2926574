import { createReadStream } from 'node:fs'
import type { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { ValueType } from '@sluice/contract'
import { parse } from 'csv-parse'
import type pg from 'pg'
import { from } from 'pg-copy-streams'
import { templates } from './environment.ts'
import type { Column, MadeFile } from './file.ts'
import { type BenchPostgres, connectTo } from './postgres.ts'
import type { LongestTransactions } from './transaction-watch.ts'

export interface Contender {
  name: 'COPY' | 'expert' | 'naive' | 'Sluice'
  /** The contender's database, and the template that it is copied from. */
  database: string
  template: string
  /** Prepares an import of a file; not measured. */
  prepare(file: MadeFile): Promise<PreparedImport>
}

/** An import that can begin at once. */
interface PreparedImport {
  run(): Promise<ImportDetails | undefined>
  /** Returns the CPU seconds of the importing process so far. */
  cpu(): Promise<number>
  close(): Promise<void>
}

export interface ImportDetails {
  /** Times from the enqueuing of the job to the import's claim, and to the first observed committed batch, ms. */
  queueWait: number
  firstCommit: number
  longestTransactions: LongestTransactions
  /** The peak resident memory of the worker, bytes. */
  peakMemory: number
}

/** The measurements of an import. CPU seconds are those of the importing Node process, and of Postgres's processes. */
export interface Measured {
  seconds: number
  nodeCpu: number
  postgresCpu: number
  details: ImportDetails | undefined
}

/** Measures a contender's import of a file into its current database. */
export async function measure(postgres: BenchPostgres, contender: Contender, file: MadeFile): Promise<Measured> {
  const prepared = await contender.prepare(file)
  try {
    await postgres.settle(contender.database)
    const before = { node: await prepared.cpu(), postgres: await postgres.cpu() }
    const started = performance.now()
    const details = await prepared.run()
    const seconds = (performance.now() - started) / 1000
    const nodeCpu = (await prepared.cpu()) - before.node
    return { seconds, nodeCpu, postgresCpu: (await postgres.cpu()) - before.postgres, details }
  } finally {
    await prepared.close()
  }
}

/** Returns a contender that imports in this process over one connection. */
function yardstick(
  postgres: BenchPostgres,
  name: 'COPY' | 'expert' | 'naive',
  run: (client: pg.Client, file: MadeFile) => Promise<void>,
): Contender {
  const database = `bench_${name.toLowerCase()}`
  return {
    ...{ name, database, template: templates.yardsticks },
    async prepare(file) {
      const client = await connectTo(postgres.urlOf(database))
      return {
        run: () => run(client, file).then(() => undefined),
        cpu: async () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6,
        close: () => client.end(),
      }
    },
  }
}

/** The floor: copies the file's bytes into a table of texts. No import on this Postgres can be faster. */
export const floor = (postgres: BenchPostgres) =>
  yardstick(postgres, 'COPY', (client, file) => copyFile(client, file, 'cells', () => 'text'))

// The fence `offset 0` makes Postgres compute each document once. Over 1,000,000 rows, these variants were no faster:
// jsonb_build_object instead of to_jsonb, `<>` instead of `@>`, no fence, and the default work_mem.
const merge = `
  merge into profiles p
  using (
    select s.user_id, to_jsonb(s) - 'user_id' as attributes
    from staging s join users u on u.app_id = 1 and u.user_id = s.user_id
    offset 0
  ) s
  on p.app_id = 1 and p.user_id = s.user_id
  when matched and not p.attributes @> s.attributes then
    update set attributes = p.attributes || s.attributes, updated_at = now()
  when not matched then
    insert (app_id, user_id, attributes, updated_at) values (1, s.user_id, s.attributes, now())`

const types: Record<ValueType, string> = { string: 'text', int: 'bigint', decimal: 'numeric', datetime: 'timestamptz' }

/**
 * The expert's import: COPY into a typed unlogged staging table, then one MERGE that skips unchanged documents.
 *
 * It handles only this one file. A bad cell or a repeated user stops it, and it does not report unregistered users.
 */
export const expert = (postgres: BenchPostgres) =>
  yardstick(postgres, 'expert', async (client, file) => {
    await client.query("set work_mem = '256MB'")
    await copyFile(client, file, 'staging', (type) => types[type])
    await client.query('analyze staging')
    await client.query(merge)
  })

/** Larger pieces were no faster. */
const pieceBytes = 2 ** 18

/**
 * Copies a file into a new unlogged table like `psql \copy`: the client reads the file and sends it, because the file
 * need not be on the server. `typeOf` returns the type of a column of the table.
 */
async function copyFile(client: pg.Client, file: MadeFile, table: string, typeOf: (type: ValueType) => string) {
  const columns = file.columns.map(({ name, type }) => `${name} ${typeOf(type)}`)
  await client.query(`drop table if exists ${table}`)
  await client.query(`create unlogged table ${table} (user_id text collate "C", ${columns.join(', ')})`)
  const unpack: Transform[] = file.gzip ? [createGunzip()] : []
  const source = createReadStream(file.path, { highWaterMark: pieceBytes })
  await pipeline([source, ...unpack, client.query(from(`copy ${table} from stdin with (format csv, header)`))])
}

const rowsAtATime = 1000

const readers: Record<ValueType, (cell: string) => string | number> = {
  string: (cell) => cell,
  int: Number,
  decimal: Number,
  datetime: (cell) => new Date(cell).toISOString(),
}

/** The naive import: csv-parse, row by row, and an INSERT of 1,000 rows that is awaited before the next are read. */
export const naive = (postgres: BenchPostgres) =>
  yardstick(postgres, 'naive', async (client, file) => {
    const rows: AsyncIterable<string[]> = createReadStream(file.path).pipe(parse({ from_line: 2 }))
    let batch: string[][] = []
    for await (const row of rows) {
      batch.push(row)
      if (batch.length < rowsAtATime) continue
      await insert(client, file.columns, batch)
      batch = []
    }
    await insert(client, file.columns, batch)
  })

async function insert(client: pg.Client, columns: readonly Column[], rows: readonly string[][]): Promise<void> {
  if (rows.length === 0) return
  const parameters = rows.flatMap(([user, ...cells]) => {
    const entries = columns.map(({ name, type }, index) => [name, readers[type](cells[index] ?? '')])
    return [user, JSON.stringify(Object.fromEntries(entries))]
  })
  const values = rows.map((_, index) => `($${2 * index + 1}, $${2 * index + 2}::jsonb)`)
  await client.query(
    `insert into profiles (app_id, user_id, attributes, updated_at)
    select 1, v.user_id, v.attributes, now()
    from (values ${values.join(', ')}) v (user_id, attributes)
    join users u on u.app_id = 1 and u.user_id = v.user_id
    on conflict (app_id, user_id) do update
    set attributes = profiles.attributes || excluded.attributes, updated_at = now()`,
    parameters,
  )
}
