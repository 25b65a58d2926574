import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from, to } from 'pg-copy-streams'
import { z } from 'zod'

/** The order in which the tables' files were written, and the last values of sequences. */
const contents = z.object({
  tables: z.array(z.string()),
  sequences: z.array(z.object({ name: z.string(), last_value: z.string() })),
})
const contentsFile = 'contents.json'

/**
 * The tables that a backup must hold. Left out are the tables of the queue, which maintenance refills, unlogged tables
 * with short-lived values, and Kysely's own tables, which the migrations fill.
 */
const ofBackup = `
  select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and c.relpersistence = 'p' and n.nspname !~ '^(pg_|information_schema|bullmq)'
    and c.relname !~ '^kysely_'
  order by 1`

/**
 * Writes the tables to a folder, as they were at one moment, while services run. Does what `pg_dump` does, because
 * `pg_dump` of Postgres's version may be missing.
 */
export async function dumpDatabase(databaseUrl: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await withClient(databaseUrl, async (client) => {
    await client.query('begin isolation level repeatable read read only')
    const { rows } = await client.query<{ name: string }>(ofBackup)
    const tables = rows.map(({ name }) => name)
    for (const table of tables) {
      await pipeline(client.query(to(`copy ${table} to stdout`)), createWriteStream(join(folder, table)))
    }
    // Sequences are outside the snapshot: their current values are at least the values in the rows.
    const { rows: sequences } = await client.query(
      `select format('%I.%I', schemaname, sequencename) as name, last_value::text from pg_sequences
       where last_value is not null and schemaname <> 'bullmq'`,
    )
    await writeFile(join(folder, contentsFile), JSON.stringify({ tables, sequences }))
    await client.query('commit')
  })
}

/** Fills a database's empty tables from a dump of the same schema, in one transaction. Needs a superuser. */
export async function restoreDatabase(folder: string, databaseUrl: string): Promise<void> {
  const { tables, sequences } = contents.parse(JSON.parse(await readFile(join(folder, contentsFile), 'utf8')))
  await withClient(databaseUrl, async (client) => {
    // Skips foreign keys and triggers: the rows were consistent when they were dumped.
    await client.query('begin; set local session_replication_role = replica')
    for (const table of tables) {
      await pipeline(createReadStream(join(folder, table)), client.query(from(`copy ${table} from stdin`)))
    }
    for (const { name, last_value: last } of sequences) await client.query('select setval($1, $2)', [name, last])
    await client.query('commit; analyze')
  })
}

async function withClient(databaseUrl: string, job: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await job(client)
  } finally {
    await client.end()
  }
}
