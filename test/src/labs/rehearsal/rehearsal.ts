import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from, to } from 'pg-copy-streams'
import { z } from 'zod'
import { seeded } from '../../environment/random.ts'
import { openScratch } from '../../environment/scratch.ts'
import { until } from '../../environment/wait.ts'
import { openClientApp, request, upload } from '../../faults/harness/client.ts'
import { compareWithModel } from '../../faults/harness/comparison.ts'
import { type Deployment, type DeploymentOptions, startDeployment } from '../../faults/harness/deployment.ts'
import { generateSoundFile } from '../../faults/harness/generate.ts'

export interface RehearsalOptions {
  queue: NonNullable<DeploymentOptions['queue']>
  apps: number
  importsOfApp: number
  rowsOfImport: number
}

export interface RehearsalResult {
  imports: number
  rows: number
  /** Imports that had ended at the moment of the dump. */
  ended: number
  processing: number
  waiting: number
  dumpBytes: number
  dumpSeconds: number
  restoreSeconds: number
  /** From the start of the first worker on the restored database until every import had ended. */
  finishSeconds: number
  /** Differences from the expected outcome of the imports. */
  violations: string[]
}

/**
 * Loses the database of a deployment in the middle of imports, and restores it.
 *
 * A dump is taken under load. Then every process is killed, including Postgres and Redis. A new Postgres is filled from
 * the dump, and new processes start on it with the same storage and an empty Redis. Every import in the dump must end
 * as if nothing had happened.
 */
export async function rehearse(options: RehearsalOptions): Promise<RehearsalResult> {
  await using folder = await openScratch('sluice-rehearsal-')
  const [dump, storageFolder] = [join(folder.path, 'dump'), join(folder.path, 'storage')]
  const shared = { queue: options.queue, storageFolder }

  const lost = await startDeployment({ ...shared, workers: 2 })
  let known: Awaited<ReturnType<typeof startLoad>>
  let dumpSeconds: number
  let unknown: string
  try {
    known = await startLoad(lost, options)
    dumpSeconds = await seconds(() => dumpDatabase(lost.databaseUrl, dump))
    // Requests after the dump are lost with the database; their clients must repeat them.
    const file = generateSoundFile(seeded(1), 1, 10)
    const [first] = known
    if (first === undefined) throw new Error('a rehearsal needs an app')
    unknown = (await request(lost, first, file)).importId
  } finally {
    await lost.close()
  }

  const restored = await startDeployment({ ...shared, workers: 0, apiPort: Number(new URL(lost.api).port) })
  try {
    const restoreSeconds = await seconds(() => restoreDatabase(dump, restored.databaseUrl))
    const states = await statesOf(restored)
    restored.mail.received.push(...lost.mail.received)
    const began = performance.now()
    for (let worker = 0; worker < 2; worker++) await restored.addWorker({})
    const comparison = await compareWithModel(restored, known, { timeoutMs: 10 * 60_000 })
    const finishSeconds = (performance.now() - began) / 1000
    if (await isKnown(restored, unknown)) comparison.violations.push('an import from after the dump is known')
    const dumpBytes = await sizeOf(dump)
    const { imports, rows, violations } = comparison
    return { imports, rows, ...states, dumpBytes, dumpSeconds, restoreSeconds, finishSeconds, violations }
  } finally {
    await restored.close()
  }
}

/**
 * Opens apps and uploads all their files. Resolves with the apps when one import has ended and another is being
 * applied.
 */
async function startLoad(deployment: Deployment, { apps, importsOfApp, rowsOfImport }: RehearsalOptions) {
  const clients = await Promise.all(Array.from({ length: apps }, () => openClientApp(deployment)))
  for (let number = 0; number < importsOfApp; number++) {
    for (const client of clients) {
      await upload(deployment, client, generateSoundFile(seeded(number), number, number === 0 ? 50 : rowsOfImport))
    }
  }
  await until('an import to end and another to be half done', async () => {
    const { ended, processing } = await statesOf(deployment)
    return ended > 0 && processing > 0
  })
  return clients
}

async function statesOf({ db }: Deployment): Promise<{ ended: number; processing: number; waiting: number }> {
  const imports = await db.selectFrom('imports').select(['state', 'rows_total']).execute()
  const count = (...states: string[]) => imports.filter(({ state }) => states.includes(state)).length
  const processing = imports.filter(({ state, rows_total: rows }) => state === 'processing' && rows > 0).length
  return { ended: count('completed', 'failed'), processing, waiting: count('queued', 'awaiting_upload') }
}

async function isKnown({ db }: Deployment, importId: string): Promise<boolean> {
  const rows = await db.selectFrom('imports').select('import_id').where('import_id', '=', importId).execute()
  return rows.length > 0
}

async function seconds(job: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await job()
  return (performance.now() - began) / 1000
}

async function sizeOf(folder: string): Promise<number> {
  const stats = await Promise.all((await readdir(folder)).map((name) => stat(join(folder, name))))
  return stats.reduce((sum, { size }) => sum + size, 0)
}

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
async function dumpDatabase(databaseUrl: string, folder: string): Promise<void> {
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
async function restoreDatabase(folder: string, databaseUrl: string): Promise<void> {
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
