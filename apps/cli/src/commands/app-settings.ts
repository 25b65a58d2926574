import { type ImportDefaults, setImportDefaults } from '@sluice/accounts'
import { outcomeOf } from '@sluice/audit-log'
import { type NewKeys, newKeysChoices } from '@sluice/contract'
import { type Command, Option } from 'commander'
import { withAudit } from '../audit.ts'
import { Failure } from '../failure.ts'
import { parseAppId } from '../stack.ts'
import { printApp } from './app-management.ts'

/** Adds `sluice apps set`. */
export function addAppSetCommand(apps: Command): void {
  const set = apps
    .command('set')
    .description('change what imports of an app do, unless their requests say otherwise')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .addOption(newKeysOption('what imports do with columns that are neither registered nor declared'))
    .addOption(new Option('--keep-changes <choice>', 'keep what each row changes').choices(['true', 'false']))
    .action(async (given: { app: number; newKeys?: NewKeys; keepChanges?: 'true' | 'false' }) => {
      const defaults: Partial<ImportDefaults> = {
        ...(given.newKeys !== undefined && { new_keys: given.newKeys }),
        ...(given.keepChanges !== undefined && { keep_changes: given.keepChanges === 'true' }),
      }
      if (Object.keys(defaults).length === 0) throw new Failure('--new-keys or --keep-changes is missing', 2)
      await withAudit(
        { appId: given.app, what: 'app.set', target: describeDefaults(defaults) },
        (db) => setImportDefaults(db, given.app, defaults),
        (isChange) => ({ outcome: outcomeOf(isChange) }),
      )
      await printApp(set, given.app)
    })
}

function describeDefaults(defaults: Partial<ImportDefaults>): string {
  return Object.entries(defaults)
    .map(([name, value]) => `${name.replace('_', ' ')}: ${value}`)
    .join(', ')
}

/** Returns the option `--new-keys` of a command. */
export function newKeysOption(description: string): Option {
  return new Option('--new-keys <choice>', description).choices(newKeysChoices)
}
