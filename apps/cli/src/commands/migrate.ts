import { readSettings, sharedStore } from '@sluice/config'
import { migrate } from '@sluice/database'
import { migrateQueue } from '@sluice/queue'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { print } from '../output.ts'
import { databaseUrl } from '../stack.ts'

/** Adds `sluice migrate`. */
export function addMigrateCommand(program: Command): void {
  const command = program
    .command('migrate')
    .description('bring the database schema up to date')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async () => {
      const { MIGRATION_DATABASE_URL, ...settings } = readSettings(process.env, [
        'REDIS_URL',
        'REDIS_SENTINELS',
        'MIGRATION_DATABASE_URL',
      ])
      const url = MIGRATION_DATABASE_URL ?? (await databaseUrl())
      const store = sharedStore({ ...settings, DATABASE_URL: url })
      const applied = await migrate(url)
      await migrateQueue(store)
      // Before the migration, there may be no audit log.
      if (applied.length > 0)
        await withAudit({ appId: undefined, what: 'schema.migrate' }, async () => {}, undefined, url)
      print(command, { applied }, () =>
        applied.length === 0 ? 'The schema is up to date.' : `Applied ${applied.join(', ')}.`,
      )
    })
}
