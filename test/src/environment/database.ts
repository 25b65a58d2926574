import { type Connection, connect, type Database, sql } from '@sluice/database'
import pg from 'pg'
import { inject } from 'vitest'

const templateName = 'sluice_template'

/** Creates the empty database that serves as the template of all test databases. Returns its URL. */
export async function createTemplate(postgresUrl: string): Promise<string> {
  await administer(postgresUrl, `create database ${templateName}`)
  return withDatabaseName(postgresUrl, templateName)
}

/** A database for one test or test file. */
export interface TestDatabase extends Connection {
  url: string
}

/** Creates a database without rows. `close` drops it. Without `migrated` it has no tables either. */
export async function openTestDatabase(connections = 10, { migrated = true } = {}): Promise<TestDatabase> {
  const postgresUrl = inject('postgresUrl')
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  // Copying files takes a third of the time that writing each page to the log takes.
  await administer(
    postgresUrl,
    `create database ${name}${migrated ? ` template ${templateName}` : ''} strategy file_copy`,
  )
  const url = withDatabaseName(postgresUrl, name)
  const { db, usage, close } = connect(url, { connections })
  return {
    url,
    db,
    usage,
    async close() {
      await close()
      await administer(postgresUrl, `drop database ${name} with (force)`)
    },
  }
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
  const rows = await db
    .selectFrom('users as u')
    .leftJoin('profiles as p', (join) => join.onRef('p.app_id', '=', 'u.app_id').onRef('p.user_id', '=', 'u.user_id'))
    .select(['u.user_id', 'p.attributes'])
    .where('u.app_id', '=', appId)
    .orderBy('u.user_id')
    .execute()
  return Object.fromEntries(rows.map((row) => [row.user_id, row.attributes ?? {}]))
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

async function administer(postgresUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: withDatabaseName(postgresUrl, 'postgres') })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
