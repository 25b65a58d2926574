import { assignCell } from '@sluice/accounts'
import { readSettings, sharedStore } from '@sluice/config'
import { connect, migrate } from '@sluice/database'
import { migrateQueue } from '@sluice/queue'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { print } from '../output.ts'
import { databaseUrl } from '../stack.ts'

/** Completes `sluice migrate`. */
export function addMigrateCommand(migration: Command): void {
  migration.action(async () => {
    const { MIGRATION_DATABASE_URL, CELL, ...settings } = readSettings(process.env, [
      'REDIS_URL',
      'REDIS_SENTINELS',
      'MIGRATION_DATABASE_URL',
      'CELL',
    ])
    // second-day.md §7, Poolers.
    const url = MIGRATION_DATABASE_URL ?? (await databaseUrl())
    const store = sharedStore({ ...settings, DATABASE_URL: url })
    const applied = await migrate(url)
    await migrateQueue(store)
    await assign(url, CELL)
    // Recorded afterwards, because the table of the audit log may not exist before the migration.
    if (applied.length > 0)
      await withAudit(
        { appId: undefined, what: 'schema.migrate', target: applied.join(', ') },
        async () => {},
        undefined,
        url,
      )
    print(migration, { applied }, () =>
      applied.length === 0 ? 'The schema is up to date.' : `Applied ${applied.join(', ')}.`,
    )
  })
}

async function assign(databaseUrl: string, cell: number): Promise<void> {
  const { db, close } = connect(databaseUrl, { connections: 1 })
  try {
    await assignCell(db, cell)
  } finally {
    await close()
  }
}
