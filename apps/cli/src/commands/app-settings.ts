import { findApp, setNewKeys } from '@sluice/accounts'
import { outcomeOf } from '@sluice/audit-log'
import { type NewKeys, newKeysChoices } from '@sluice/contract'
import { type Command, Option } from 'commander'
import { withAudit } from '../audit.ts'
import { Failure } from '../failure.ts'
import { fields, print } from '../output.ts'
import { parseAppId } from '../stack.ts'

/** Adds `sluice apps set`. */
export function addAppSetCommand(apps: Command): void {
  const set = apps
    .command('set')
    .description('change the settings of an app')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .addOption(newKeysOption('what imports do with columns that are neither registered nor declared'))
    .action(async ({ app: appId, newKeys }: { app: number; newKeys?: NewKeys }) => {
      if (newKeys === undefined) throw new Failure('--new-keys is missing', 2)
      const [, found] = await withAudit(
        { appId, what: 'app.set', target: `new keys: ${newKeys}` },
        async (db) => [await setNewKeys(db, appId, newKeys), await findApp(db, appId)] as const,
        ([isChange]) => ({ outcome: outcomeOf(isChange) }),
      )
      const settings = { app_id: appId, name: found?.name, new_keys: newKeys }
      print(set, settings, () => fields({ 'App ID': String(appId), Name: found?.name, 'New keys': newKeys }))
    })
}

/** Returns the option `--new-keys` of a command. */
export function newKeysOption(description: string): Option {
  return new Option('--new-keys <choice>', description).choices(newKeysChoices)
}
