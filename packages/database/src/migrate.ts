import { Migrator } from 'kysely/migration'
import { connect } from './connect.ts'
import * as initial from './migrations/0001-initial.ts'
import * as rateLimits from './migrations/0002-rate-limits.ts'
import * as deletions from './migrations/0003-deletions.ts'
import * as deletionBatches from './migrations/0004-deletion-batches.ts'
import * as rowHashes from './migrations/0005-row-hashes.ts'
import * as profiles from './migrations/0006-profiles.ts'
import * as dashboard from './migrations/0007-dashboard.ts'
import * as cancellationAndDryRuns from './migrations/0008-cancellation-and-dry-runs.ts'

const migrations = {
  '0001-initial': initial,
  '0002-rate-limits': rateLimits,
  '0003-deletions': deletions,
  '0004-deletion-batches': deletionBatches,
  '0005-row-hashes': rowHashes,
  '0006-profiles': profiles,
  '0007-dashboard': dashboard,
  '0008-cancellation-and-dry-runs': cancellationAndDryRuns,
}

/** A migration may have to rewrite a table, and another process wait for it: neither is a broken connection. ms. */
const longestStatement = 24 * 60 * 60_000

/**
 * Brings the schema up to date. Several processes may call it at once: the migrator takes a lock.
 *
 * Takes a Postgres URL. Gives the names of the migrations that it applied. Throws what the failing migration threw.
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const { db, close } = connect(databaseUrl, { connections: 2, longestQuery: longestStatement })
  try {
    const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
    const { error, results } = await migrator.migrateToLatest()
    if (error !== undefined) throw error
    return (results ?? []).map((result) => result.migrationName)
  } finally {
    await close()
  }
}
