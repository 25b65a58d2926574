import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import pg from 'pg'
import { connect, type Database } from './connect.ts'
import * as initial from './migrations/0001-initial.ts'
import { waitedTooLong } from './refusal.ts'

/** Migrations by name, in order. Each runs in a transaction of its own. */
export type Migrations = Readonly<Record<string, Pick<Migration, 'up'>>>

export const migrations: Migrations = {
  '0001-initial': initial,
}

/** The first version of Postgres with `transaction_timeout`, as `server_version_num`. */
const oldestPostgres = 170_000

/**
 * Query timeout of a migration. One process may rewrite a large table while another process waits for it. The timeout
 * must end neither query.
 */
const statementTimeoutMs = 24 * 60 * 60_000

/**
 * While a statement waits for a lock on a table, all later statements on the table wait after it. Therefore a migration
 * rolls back after this time, and runs again after a pause.
 */
const lockTimeoutMs = 2_000
const lockPauseMs = 1_000
const lockTries = 200

/**
 * Brings the schema up to date (design.md §2, Migration), and returns the names of the migrations that it applied.
 * Several processes may call this at once: the migrator takes a lock. Services may run meanwhile: no migration waits
 * longer than 2 s for a lock.
 *
 * Throws the error of the migration that failed; the preceding migrations stay applied. Throws if Postgres is too old,
 * or if the database has a migration that is not in `all`: a newer version made its schema.
 */
export async function migrate(databaseUrl: string, all: Migrations = migrations): Promise<string[]> {
  const { db, close } = connect(databaseUrl, { connections: 2, queryTimeoutMs: statementTimeoutMs, lockTimeoutMs })
  try {
    await requireVersion(db)
    await refuseNewerSchema(db, all)
    const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...all }) } })
    const applied: string[] = []
    for (;;) {
      const name = await applyNext(migrator)
      if (name === undefined) return applied
      applied.push(name)
    }
  } finally {
    await close()
  }
}

async function requireVersion(db: Database): Promise<void> {
  const { rows } = await sql<{ number: number; name: string }>`
    select current_setting('server_version_num')::integer as number, current_setting('server_version') as name
  `.execute(db)
  const [version] = rows
  if (version !== undefined && version.number >= oldestPostgres) return
  throw new Error(`Postgres ${oldestPostgres / 10_000} or later is needed, this is ${version?.name}`)
}

/** Without this check, the migrator would call a newer schema corrupted. */
async function refuseNewerSchema(db: Database, all: Migrations): Promise<void> {
  const newer = [...(await appliedMigrations(db))].find((name) => !(name in all))
  if (newer === undefined) return
  throw new Error(
    `this version does not know migration ${newer} of the database: migrate with the version that made it`,
  )
}

/**
 * Checks that a process of this version can work on a database: the database answers, and has every migration of this
 * version. It may have newer migrations, since each migration keeps the preceding release working.
 *
 * Throws an error that names the missing migration, or the error of a database that does not answer.
 */
export async function checkSchema(db: Database, all: Migrations = migrations): Promise<void> {
  const applied = await appliedMigrations(db)
  const missing = Object.keys(all).find((name) => !applied.has(name))
  if (missing !== undefined) throw new Error(`migration ${missing} is not applied: run sluice migrate`)
}

async function appliedMigrations(db: Database): Promise<Set<string>> {
  try {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db)
    return new Set(rows.map(({ name }) => name))
  } catch (error) {
    // An empty database does not even have the table of migrations.
    if (error instanceof pg.DatabaseError && error.code === '42P01') return new Set()
    throw error
  }
}

/** Applies the next migration. Returns its name; undefined if none was left. */
async function applyNext(migrator: Migrator): Promise<string | undefined> {
  for (let tries = 1; ; tries++) {
    const { error, results } = await migrator.migrateUp()
    if (error === undefined) return results?.[0]?.migrationName
    if (tries === lockTries || !waitedTooLong(error)) throw error
    await delay(lockPauseMs)
  }
}
