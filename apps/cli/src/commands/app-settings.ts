import { type ImportDefaults, setImportDefaults } from '@sluice/accounts'
import { outcomeOf } from '@sluice/audit-log'
import { Failure } from '@sluice/client-cli/failure'
import { type HoldIf, holdIfOf, holdIfText, type NewKeys, newKeysChoices } from '@sluice/contract'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { withAudit } from '../audit.ts'
import { parseAppId } from '../stack.ts'
import { printApp } from './app-management.ts'

export function addAppSetCommand(apps: Command): void {
  const set = apps
    .command('set')
    .description('change what imports of an app do, unless their requests say otherwise')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .addOption(newKeysOption('what imports do with columns that are neither registered nor declared'))
    .addOption(new Option('--keep-changes <choice>', 'keep what each row changes').choices(['true', 'false']))
    .addOption(holdIfOption('when imports are held for approval'))
    .action(async (given: { app: number; newKeys?: NewKeys; keepChanges?: 'true' | 'false'; holdIf?: HoldIf }) => {
      const defaults: Partial<ImportDefaults> = {
        ...(given.newKeys !== undefined && { new_keys: given.newKeys }),
        ...(given.keepChanges !== undefined && { keep_changes: given.keepChanges === 'true' }),
        ...(given.holdIf !== undefined && { hold_if: given.holdIf }),
      }
      if (Object.keys(defaults).length === 0) throw new Failure('--new-keys, --keep-changes or --hold-if is missing', 2)
      await withAudit(
        { appId: given.app, what: 'app.set', target: describeDefaults(defaults) },
        (db) => setImportDefaults(db, given.app, defaults),
        (isChange) => ({ outcome: outcomeOf(isChange) }),
      )
      // changes.md §1, Asking for it.
      await printApp(set, given.app)
    })
}

function describeDefaults(defaults: Partial<ImportDefaults>): string {
  return Object.entries(defaults)
    .map(([name, value]) => `${name.replace('_', ' ')}: ${typeof value === 'object' ? holdIfText(value) : value}`)
    .join(', ')
}

export function newKeysOption(description: string): Option {
  return new Option('--new-keys <choice>', description).choices(newKeysChoices)
}

export function holdIfOption(description: string): Option {
  return new Option(
    '--hold-if <bounds>',
    `${description}: always, never, or such as changed_percent=20,new_keys=0`,
  ).argParser((text) => {
    const holdIf = holdIfOf(text)
    if (holdIf === undefined)
      throw new InvalidArgumentError('It is always, never, or bounds such as changed_percent=20,new_keys=0.')
    return holdIf
  })
}
