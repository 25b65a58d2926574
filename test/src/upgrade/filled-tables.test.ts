import { type Database, migrate, migrationNames, sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { lockWaits, openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { until } from '../environment/wait.ts'

const users = 1_000_000

/**
 * How much of the tables that are there a migration may go through, pages of 8 KiB: what it has locked keeps writers waiting
 * until it ends. An ordinary index on the users goes through 10,300, one on the imports of a large installation through 1,100.
 */
const mostPages = 7_000

/** Those that go through more, each with its reason. */
const exceptions = new Map([
  ['0006-profiles', 'before the first release: it moves all profiles to another table while nobody writes'],
])

test('no migration goes through a table of 1,000,000 users while writers wait for it', {
  timeout: 300_000,
}, async () => {
  const database = await openTestDatabase(1, { migrated: false })
  onTestFinished(() => database.close())
  const [initial = '', ...later] = migrationNames
  await migrate(database.url, initial)
  await fill(database)
  const pages: Record<string, number> = {}
  for (const name of later) {
    pages[name] = await pagesReadBy(database, async () => {
      expect(await migrate(database.url, name)).toEqual([name])
    })
  }
  const long = Object.entries(pages).filter(([name, read]) => read > mostPages && !exceptions.has(name))
  expect(long).toEqual([])
  for (const name of exceptions.keys()) expect(pages[name]).toBeGreaterThan(mostPages)
})

test('a migration that finds a table locked lets writers pass, and comes again until it gets it', async () => {
  const database = await openTestDatabase(10, { migrated: false })
  onTestFinished(() => database.close())
  const { db, url } = database
  await migrate(url, '0004-deletion-batches')
  await sql`insert into users (app_id, user_id) values (1, 'user-1')`.execute(db)
  let migrated: Promise<string[]> | undefined
  let waited = 0
  await db.transaction().execute(async (tx) => {
    await sql`lock table users in share update exclusive mode`.execute(tx)
    migrated = migrate(url, '0005-row-hashes')
    for (let time = 1; time <= 2; time++) {
      await until('the migration to wait for the table', async () =>
        (await lockWaits(db)).some((statement) => /^ *alter table users/.test(statement)),
      )
      // Behind the migration, which waits for this transaction: only that it gives up lets the write pass.
      const began = performance.now()
      await sql`update users set registered_at = now() where app_id = 1 and user_id = 'user-1'`.execute(db)
      waited = Math.max(waited, performance.now() - began)
    }
  })
  expect(waited).toBeGreaterThan(500)
  expect(waited).toBeLessThan(3_500)
  expect(await migrated).toEqual(['0005-row-hashes'])
})

async function fill({ db }: TestDatabase): Promise<void> {
  await sql`insert into apps (name) values ('large')`.execute(db)
  await sql`
    insert into users (app_id, user_id, attributes)
    select 1, 'user-' || n, jsonb_build_object('n', n) from generate_series(1, ${users}::integer) n
  `.execute(db)
  await sql`
    insert into imports (app_id, source, state, object_key, content_type, finished_at)
    select 1, 'v3', 'completed', 'apps/1/imports/' || n, 'text/csv', now() from generate_series(1, 50000) n
  `.execute(db)
}

/**
 * How many pages of the tables that were there before `work` goes through, in memory or on disk. It goes by Postgres's
 * counters: how long it takes depends on what else the machine does.
 */
async function pagesReadBy({ db }: TestDatabase, work: () => Promise<unknown>): Promise<number> {
  await keepFromVacuum(db)
  const before = await pagesRead(db)
  await work()
  await until('the connections of the migration to end', async () => {
    const { rows } = await sql`
      select from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
    `.execute(db)
    return rows.length === 0
  })
  let pages = 0
  for (const [table, read] of await pagesRead(db)) pages += read - (before.get(table) ?? read)
  return pages
}

/** Pages of its tables that a database has read, by table. */
async function pagesRead(db: Database): Promise<Map<string, number>> {
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const { rows } = await sql<{ relid: string; pages: string }>`
    select relid, heap_blks_read + heap_blks_hit as pages from pg_statio_user_tables
  `.execute(db)
  return new Map(rows.map(({ relid, pages }) => [relid, Number(pages)]))
}

/** What Postgres does by itself would count as the migration's. */
async function keepFromVacuum(db: Database): Promise<void> {
  const { rows } = await sql<{ table: string }>`select relname as table from pg_stat_user_tables`.execute(db)
  for (const { table } of rows) await sql`alter table ${sql.table(table)} set (autovacuum_enabled = off)`.execute(db)
}
