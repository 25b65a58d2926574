import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import pg from 'pg'
import { connect, type Database } from './connect.ts'
import * as initial from './migrations/0001-initial.ts'
import * as rateLimits from './migrations/0002-rate-limits.ts'
import * as deletions from './migrations/0003-deletions.ts'
import * as deletionBatches from './migrations/0004-deletion-batches.ts'
import * as rowHashes from './migrations/0005-row-hashes.ts'
import * as profiles from './migrations/0006-profiles.ts'
import * as dashboard from './migrations/0007-dashboard.ts'
import * as cancellationAndDryRuns from './migrations/0008-cancellation-and-dry-runs.ts'
import * as bucketUploads from './migrations/0009-bucket-uploads.ts'
import * as progressInPlace from './migrations/0010-progress-in-place.ts'
import * as profileTime from './migrations/0011-profile-time.ts'
import * as releasedImports from './migrations/0012-released-imports.ts'
import * as errorFileLimit from './migrations/0013-error-file-limit.ts'
import * as deletedData from './migrations/0014-deleted-data.ts'
import * as bucketFiles from './migrations/0015-bucket-files.ts'
import * as previewedKeys from './migrations/0016-previewed-keys.ts'
import * as uploadChecksums from './migrations/0018-upload-checksums.ts'
import * as normalAddresses from './migrations/0019-normal-addresses.ts'
import * as fairOrder from './migrations/0021-fair-order.ts'
import * as partSizes from './migrations/0022-part-sizes.ts'
import * as mailLimits from './migrations/0023-mail-limits.ts'
import * as fileNames from './migrations/0024-file-names.ts'
import * as errorRoom from './migrations/0025-error-room.ts'

/** All of them, in order; each runs in a transaction of its own. */
const migrations = {
  '0001-initial': initial,
  '0002-rate-limits': rateLimits,
  '0003-deletions': deletions,
  '0004-deletion-batches': deletionBatches,
  '0005-row-hashes': rowHashes,
  '0006-profiles': profiles,
  '0007-dashboard': dashboard,
  '0008-cancellation-and-dry-runs': cancellationAndDryRuns,
  '0009-bucket-uploads': bucketUploads,
  '0010-progress-in-place': progressInPlace,
  '0011-profile-time': profileTime,
  '0012-released-imports': releasedImports,
  '0013-error-file-limit': errorFileLimit,
  '0014-deleted-data': deletedData,
  '0015-bucket-files': bucketFiles,
  '0016-previewed-keys': previewedKeys,
  '0018-upload-checksums': uploadChecksums,
  '0019-normal-addresses': normalAddresses,
  '0021-fair-order': fairOrder,
  '0022-part-sizes': partSizes,
  '0023-mail-limits': mailLimits,
  '0024-file-names': fileNames,
  '0025-error-room': errorRoom,
}

/** The first Postgres with `transaction_timeout`, as it names its versions to programs. */
const oldestPostgres = 170_000

/** A migration may have to rewrite a table, and another process wait for it: neither is a broken connection. ms. */
const longestStatement = 24 * 60 * 60_000

/** A migration that waits for a lock has everybody else wait behind it: it gives up after this time, ms, and comes again. */
const lockTimeout = 2_000
const lockPause = 1_000
const lockTries = 200

/** The names of all migrations, in order. */
export const migrationNames: readonly string[] = Object.keys(migrations)

/**
 * Brings the schema up to date. Several processes may call it at once: the migrator takes a lock. Services may run
 * meanwhile: each migration is a transaction of its own, and waits for no lock for longer than 2 s at a time.
 *
 * Takes a Postgres URL, and the last migration to apply where it is not the newest. Gives the names of the migrations that
 * it applied. Throws what the failing migration threw; those before it stay applied. Throws where Postgres is too old.
 */
export async function migrate(databaseUrl: string, last = migrationNames.at(-1)): Promise<string[]> {
  const options = { connections: 2, longestQuery: longestStatement, lockTimeout }
  const { db, close } = connect(databaseUrl, options)
  try {
    await requireVersion(db)
    const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
    const applied: string[] = []
    while (applied.at(-1) !== last) {
      const name = await applyNext(migrator)
      if (name === undefined) break
      applied.push(name)
    }
    return applied
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

/**
 * Whether a process can work on the database `db`: it answers, and has every migration that this version knows. It may have
 * newer ones, which the release before theirs works with. Throws where it is away, or names the migration that is missing.
 */
export async function checkSchema(db: Database): Promise<void> {
  const applied = await appliedMigrations(db)
  const missing = migrationNames.find((name) => !applied.has(name))
  if (missing !== undefined) throw new Error(`migration ${missing} is not applied: run sluice migrate`)
}

async function appliedMigrations(db: Database): Promise<Set<string>> {
  try {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db)
    return new Set(rows.map(({ name }) => name))
  } catch (error) {
    // An empty database has no table of migrations either.
    if (error instanceof pg.DatabaseError && error.code === '42P01') return new Set()
    throw error
  }
}

/** Gives the name of the migration that it applied; undefined where none was left. */
async function applyNext(migrator: Migrator): Promise<string | undefined> {
  for (let tries = 1; ; tries++) {
    const { error, results } = await migrator.migrateUp()
    if (error === undefined) return results?.[0]?.migrationName
    if (tries === lockTries || !isLockTimeout(error)) throw error
    await delay(lockPause)
  }
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '55P03'
}
