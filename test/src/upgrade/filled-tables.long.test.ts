import { type Database, type Migrations, migrate, migrations, sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { lockWaits, openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { until } from '../environment/wait.ts'

const users = 1_000_000

/**
 * How many pages (8 KiB) of existing tables a migration may read. A migration keeps writers waiting until it ends. An
 * ordinary index on the users reads 6,400 pages, an index on the imports of a large installation 1,100.
 */
const maxPages = 5_000

test('no migration reads through a table of 1,000,000 users while writers wait for it', {
  timeout: 300_000,
}, async () => {
  const database = await openTestDatabase(1, { migrated: false })
  onTestFinished(() => database.close())
  const [initial = '', ...later] = Object.keys(migrations)
  await migrate(database.url, pick(migrations, initial))
  await keepFromVacuum(database)
  await fill(database)
  for (let count = 1; count <= later.length; count++) {
    const upTo = later.slice(0, count)
    const pages = await pagesReadBy(database, async () => {
      expect(await migrate(database.url, pick(migrations, initial, ...upTo))).toEqual(upTo.slice(-1))
    })
    expect(pages, upTo.at(-1)).toBeLessThan(maxPages)
  }

  // Checks the measurement itself: an ordinary index exceeds the limit, and a new column does not.
  const column = sample('9998-column', 'alter table users add column sample integer not null default 1')
  expect(await pagesReadBy(database, () => migrate(database.url, column))).toBeLessThan(maxPages)
  const index = { ...column, ...sample('9999-index', 'create index users_sample on users (registered_at)') }
  expect(await pagesReadBy(database, () => migrate(database.url, index))).toBeGreaterThan(maxPages)
})

test('a migration that finds a table locked lets writers pass, and tries again until it gets the lock', async () => {
  const database = await openTestDatabase(10)
  onTestFinished(() => database.close())
  const { db, url } = database
  await sql`insert into users (app_id, user_id) values (1, 'user-1')`.execute(db)
  let migrated: Promise<string[]> | undefined
  let waitedMs = 0
  await db.transaction().execute(async (tx) => {
    await sql`lock table users in share update exclusive mode`.execute(tx)
    migrated = migrate(url, sample('9999-column', 'alter table users add column sample uuid'))
    for (let time = 1; time <= 2; time++) {
      await until('the migration to wait for the table', async () =>
        (await lockWaits(db)).some((statement) => /^ *alter table users/.test(statement)),
      )
      // This write queues after the migration, which waits for this transaction. It passes only if the migration rolls
      // back.
      const began = performance.now()
      await sql`update users set registered_at = now() where app_id = 1 and user_id = 'user-1'`.execute(db)
      waitedMs = Math.max(waitedMs, performance.now() - began)
    }
  })
  expect(waitedMs).toBeGreaterThan(500)
  expect(waitedMs).toBeLessThan(3_500)
  expect(await migrated).toEqual(['9999-column'])
})

/** Returns the migrations with these names only. */
function pick(all: Migrations, ...names: string[]): Migrations {
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
}

/** Returns all migrations and an additional migration `name` that runs `statement`. */
function sample(name: string, statement: string): Migrations {
  return { ...migrations, [name]: { up: async (db) => void (await sql.raw(statement).execute(db)) } }
}

async function fill({ db }: TestDatabase): Promise<void> {
  await sql`insert into apps (name) values ('large')`.execute(db)
  await sql`
    insert into users (app_id, user_id) select 1, 'user-' || n from generate_series(1, ${users}::integer) n
  `.execute(db)
  await sql`
    insert into profiles (app_id, user_id, attributes)
    select 1, 'user-' || n, hstore('n', n::text) from generate_series(1, ${users}::integer) n
  `.execute(db)
  await sql`
    insert into imports (app_id, source, state, object_key, content_type, finished_at)
    select 1, 'v3', 'completed', 'apps/1/imports/' || n, 'text/csv', now() from generate_series(1, 50000) n
  `.execute(db)
}

/**
 * Returns how many pages of the existing tables `work` reads, in memory or on disk. Postgres's counters are used
 * because the duration depends on the load of the machine.
 */
async function pagesReadBy({ db }: TestDatabase, work: () => Promise<unknown>): Promise<number> {
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

/** Returns how many pages of its tables a database has read, by table. */
async function pagesRead(db: Database): Promise<Map<string, number>> {
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const { rows } = await sql<{ relid: string; pages: string }>`
    select relid, heap_blks_read + heap_blks_hit as pages from pg_statio_user_tables
  `.execute(db)
  return new Map(rows.map(({ relid, pages }) => [relid, Number(pages)]))
}

/** Turns autovacuum off: its reads would count as the migration's. */
async function keepFromVacuum({ db }: TestDatabase): Promise<void> {
  const { rows } = await sql<{ table: string }>`select relname as table from pg_stat_user_tables`.execute(db)
  for (const { table } of rows) await sql`alter table ${sql.table(table)} set (autovacuum_enabled = off)`.execute(db)
}
