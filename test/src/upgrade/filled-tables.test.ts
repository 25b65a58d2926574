import { setTimeout as delay } from 'node:timers/promises'
import { migrate, migrationNames, sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'

/** How long a migration may keep a write to a filled table waiting, ms. An ordinary index on it takes 300 and more. */
const longestWait = 200
const users = 1_000_000

/** Those that keep writers waiting for longer, each with its reason. */
const exceptions = new Map([
  ['0006-profiles', 'before the first release: it moves all profiles to another table while nobody writes'],
])

test('no migration keeps writers of a table of 1,000,000 users waiting for long', { timeout: 300_000 }, async () => {
  const database = await openTestDatabase(10, { migrated: false })
  onTestFinished(() => database.close())
  const [initial = '', ...later] = migrationNames
  await migrate(database.url, initial)
  await fill(database)
  const waits: Record<string, number> = {}
  for (const name of later) {
    const { stop } = watchWriters(database)
    expect(await migrate(database.url, name)).toEqual([name])
    waits[name] = await stop()
  }
  const long = Object.entries(waits).filter(([name, wait]) => wait > longestWait && !exceptions.has(name))
  expect(long).toEqual([])
})

test('a migration that finds a table locked lets writers pass, and comes again until it gets it', async () => {
  const database = await openTestDatabase(10, { migrated: false })
  onTestFinished(() => database.close())
  await migrate(database.url, '0004-deletion-batches')
  await sql`insert into users (app_id, user_id) values (1, 'user-1')`.execute(database.db)
  let migrated: Promise<string[]> | undefined
  let writers = { stop: async () => 0 }
  await database.db.transaction().execute(async (tx) => {
    await sql`lock table users in share update exclusive mode`.execute(tx)
    migrated = migrate(database.url, '0005-row-hashes')
    writers = watchWriters(database)
    // For longer than the migration waits at a time.
    for (let second = 0; second < 4; second++) {
      await delay(1_000)
      await sql`select 1`.execute(tx)
    }
  })
  const waited = await writers.stop()
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

/** Writes to both tables again and again; `stop` gives the longest that a write waited for somebody else's lock, ms. */
function watchWriters({ db }: TestDatabase): { stop(): Promise<number> } {
  let longest = 0
  let over = false
  const write = async (table: 'users' | 'imports') => {
    while (!over) {
      if (table === 'users') {
        await sql`update users set registered_at = now() where app_id = 1 and user_id = 'user-1'`.execute(db)
      } else await sql`update imports set requested_at = now() where app_id = 1 and line_number = 1`.execute(db)
      await delay(5)
    }
  }
  // A write that is slow because the machine is busy waits for no lock.
  const watch = async () => {
    let since: number | undefined
    while (!over) {
      const { rows } = await sql`
        select from pg_stat_activity
        where datname = current_database() and query ~ '^ *update (users|imports)' and cardinality(pg_blocking_pids(pid)) > 0
      `.execute(db)
      since = rows.length === 0 ? undefined : (since ?? performance.now())
      if (since !== undefined) longest = Math.max(longest, performance.now() - since)
      await delay(5)
    }
  }
  const ended = Promise.all([write('users'), write('imports'), watch()])
  return {
    async stop() {
      over = true
      await ended
      return longest
    },
  }
}
