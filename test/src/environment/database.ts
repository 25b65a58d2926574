import { type Connection, connect, type Database, sql } from '@sluice/database'
import pg from 'pg'
import { inject } from 'vitest'

const templateName = 'sluice_template'

/** Makes the empty database that every test's database is a copy of, and gives its URL. */
export async function templateUrl(postgresUrl: string): Promise<string> {
  await administer(postgresUrl, `create database ${templateName}`)
  return withDatabaseName(postgresUrl, templateName)
}

/** A migrated, empty database for one test or file. */
export interface TestDatabase extends Connection {
  url: string
}

/** Makes a database of its own; `close` drops it. One that is not `migrated` is empty. */
export async function openTestDatabase(connections = 10, { migrated = true } = {}): Promise<TestDatabase> {
  const postgresUrl = inject('postgresUrl')
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await administer(postgresUrl, `create database ${name}${migrated ? ` template ${templateName}` : ''}`)
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

/** The user IDs that a table or view has of an app, in order. */
export async function userIdsIn(
  { db }: Pick<Connection, 'db'>,
  table: 'users' | 'deletion_request_users' | 'campaign_targets',
  appId: number,
): Promise<string[]> {
  const rows = await db.selectFrom(table).select('user_id').where('app_id', '=', appId).orderBy('user_id').execute()
  return rows.map((row) => row.user_id)
}

/** The profiles of an app's users, in order of their IDs; that of a user without any value is empty. */
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

/** The statements in a database that wait for a lock: of one kind, as Postgres names them, where it is given. */
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
