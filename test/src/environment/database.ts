import { type Connection, connect, type Database, sql } from '@sluice/database'
import pg from 'pg'
import { inject } from 'vitest'
import { makeReusable, markChangedSchemas, type ReusableDatabase } from './reusable-database.ts'

const templateName = 'sluice_template'

/** Databases whose tests have ended. They are as good as new, and keep the connections of their pool. */
const reusable: ReusableTestDatabase[] = []

/** Creates the template of all test databases, with the tables that `migrateAll` creates. */
export async function createTemplate(postgresUrl: string, migrateAll: (url: string) => Promise<void>): Promise<void> {
  await administer(postgresUrl, `create database ${templateName}`)
  const url = withDatabaseName(postgresUrl, templateName)
  await migrateAll(url)
  await administer(url, markChangedSchemas)
}

export interface TestDatabase extends Connection {
  url: string
}

interface ReusableTestDatabase extends ReusableDatabase {
  url: string
  connections: number
  pool: Connection
}

/**
 * Opens a database without rows. Without `migrated` it has no tables either. `close` aborts what is still running in
 * the database, and makes it empty for another test. That test gets the pool as well, because opening a connection
 * costs as much as emptying a database.
 */
export async function openTestDatabase(connections = 10, { migrated = true } = {}): Promise<TestDatabase> {
  if (!migrated) return await openUnmigrated(connections)
  const index = reusable.findIndex((database) => database.connections === connections)
  const [database = await createFromTemplate(connections)] = index === -1 ? [] : reusable.splice(index, 1)
  const { url, pool } = database
  return {
    url,
    db: pool.db,
    usage: pool.usage,
    async close() {
      if (await database.empty()) return void reusable.push(database)
      await pool.close()
      await database.close()
      await dropDatabase(url)
    },
  }
}

async function openUnmigrated(connections: number): Promise<TestDatabase> {
  const url = await createDatabase()
  const { db, usage, close } = connect(url, { connections })
  return {
    url,
    db,
    usage,
    async close() {
      await close()
      await dropDatabase(url)
    },
  }
}

async function createFromTemplate(connections: number): Promise<ReusableTestDatabase> {
  // Copying files takes a third of the time that writing each page to the log takes.
  const url = await createDatabase(`template ${templateName} strategy file_copy`)
  return {
    url,
    connections,
    pool: connect(url, { connections, onError: () => {} }),
    ...(await makeReusable(url, { ends: 'busy' })),
  }
}

/** Creates a database with a new name. Returns its URL. */
async function createDatabase(options = ''): Promise<string> {
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await administer(inject('postgresUrl'), `create database ${name} ${options}`)
  return withDatabaseName(inject('postgresUrl'), name)
}

async function dropDatabase(url: string): Promise<void> {
  await administer(inject('postgresUrl'), `drop database ${new URL(url).pathname.slice(1)} with (force)`)
}

/** Returns an app's user IDs in a table or view, sorted. */
export async function userIdsIn(
  { db }: Pick<Connection, 'db'>,
  table: 'users' | 'deletion_request_users' | 'campaign_targets',
  appId: number,
): Promise<string[]> {
  const rows = await db.selectFrom(table).select('user_id').where('app_id', '=', appId).orderBy('user_id').execute()
  return rows.map((row) => row.user_id)
}

/** Returns the profiles of an app's users, sorted by user ID. The profile of a user without values is empty. */
export async function storedProfiles(
  { db }: Pick<Connection, 'db'>,
  appId: number,
): Promise<Record<string, Record<string, unknown>>> {
  const { rows } = await sql<{ user_id: string; values: Record<string, string | number> | null }>`
    select user_id, (
        select json_object_agg(v.key, case when k.type in ('int', 'decimal') then to_json(v.value::numeric) else to_json(v.value) end)
        from each(p.attributes) v left join profile_keys k on k.app_id = ${appId} and k.key = v.key
      ) as values
    from users u left join profiles p using (app_id, user_id) where app_id = ${appId} order by user_id
  `.execute(db)
  return Object.fromEntries(rows.map(({ user_id, values }) => [user_id, values ?? {}]))
}

/** Returns the statements that wait for a lock, optionally only for locks of one kind (as Postgres names it). */
export async function lockWaits(db: Database, kind?: 'advisory' | 'transactionid'): Promise<string[]> {
  const { rows } = await sql<{ query: string }>`
    select query from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and wait_event = coalesce(${kind ?? null}, wait_event)
  `.execute(db)
  return rows.map(({ query }) => query)
}

function withDatabaseName(postgresUrl: string, name: string): string {
  const url = new URL(postgresUrl)
  url.pathname = `/${name}`
  return url.href
}

/** Runs statements with a connection of their own. */
async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/** Locks a table against everything. Returns the function that releases it. */
export async function lockTable(db: Database, table: string): Promise<() => Promise<void>> {
  const released = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const transaction = db.transaction().execute(async (tx) => {
    await sql`lock table ${sql.table(table)}`.execute(tx)
    locked.resolve()
    await released.promise
  })
  await Promise.race([locked.promise, transaction])
  return async () => {
    released.resolve()
    await transaction
  }
}
