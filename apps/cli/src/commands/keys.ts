import { requireApp } from '@sluice/accounts'
import { outcomeOf } from '@sluice/audit-log'
import { keyAndType } from '@sluice/client-cli'
import { Failure } from '@sluice/client-cli/failure'
import { dateOf, table } from '@sluice/client-cli/text'
import { readSettings } from '@sluice/config'
import { checkRequest, keyChange, keyRegistration, type ProfileKeyView } from '@sluice/contract'
import { changeKeys, declareKeys, keyChangeText, listKeys } from '@sluice/profiles'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { print, printList } from '../output.ts'
import { parseAppId, withDatabase } from '../stack.ts'

/** Adds `sluice keys` (design.md §2, Key list; second-day.md §1, Command line; changes.md §4). */
export function addKeyCommands(keys: Command): void {
  const list = keys
    .command('list')
    .description('profile keys of an app with their types')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .action(async ({ app }: { app: number }) => {
      const found = await withDatabase(async (db) => {
        await requireApp(db, app)
        return await listKeys(db, app)
      })
      printList(list, found, rowsOf(found), noKeys)
    })

  const add = keys
    .command('add')
    .description('register keys with their types, all or none; a registered type is final')
    .argument('<key=type...>', 'for example zip=string; the type follows the last =')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .action(async (pairs: string[], { app }: { app: number }) => {
      const parsed = checkRequest(keyRegistration, { profile_keys: pairs.map(keyAndType) })
      if ('messages' in parsed) throw new Failure(parsed.messages.join(', '), 2)
      const { PROFILE_KEY_LIMIT: limit } = readSettings(process.env, ['PROFILE_KEY_LIMIT'])
      const added = await withDatabase(async (db) => {
        await requireApp(db, app)
        return await declareKeys(db, app, parsed.value.profile_keys, limit)
      })
      print(add, added, () => table(rowsOf(added), noKeys))
    })

  addSwitch(keys, 'disable', 'disable keys, all or none; their values stay stored, and imports ignore their columns')
  addSwitch(keys, 'enable', 'enable keys, all or none, with the values that are stored')

  const describe = keys
    .command('describe')
    .description('say what a key is for')
    .argument('<key>', 'a registered key')
    .argument('<text>', 'the description; an empty text removes it')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .action(async (key: string, description: string, { app }: { app: number }) => {
      const parsed = checkRequest(keyChange, { description })
      if ('messages' in parsed) throw new Failure(parsed.messages.join(', '), 2)
      await change(describe, app, { keys: [key], ...parsed.value })
    })
}

function addSwitch(keys: Command, name: 'disable' | 'enable', description: string): void {
  const command = keys
    .command(name)
    .description(description)
    .argument('<key...>', 'registered keys')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .action(
      async (keys: string[], { app }: { app: number }) =>
        await change(command, app, { keys, enabled: name === 'enable' }),
    )
}

/** Changes keys, records it in the audit log, and prints the keys. */
async function change(command: Command, appId: number, wanted: Parameters<typeof changeKeys>[2]): Promise<void> {
  const { PROFILE_KEY_LIMIT: limit } = readSettings(process.env, ['PROFILE_KEY_LIMIT'])
  const { keys } = await withAudit(
    { appId, what: 'key.change', target: keyChangeText(wanted) },
    async (db) => {
      await requireApp(db, appId)
      return await changeKeys(db, appId, wanted, limit)
    },
    ({ hasChanged }) => ({ outcome: outcomeOf(hasChanged) }),
  )
  print(command, keys, () => table(rowsOf(keys), noKeys))
}

const noKeys = 'No keys.'

function rowsOf(keys: readonly ProfileKeyView[]) {
  return keys.map(({ key, type, enabled, registered_at: at, description }) => ({
    KEY: key,
    TYPE: type,
    ENABLED: enabled ? 'yes' : 'no',
    REGISTERED: dateOf(at),
    DESCRIPTION: description ?? '',
  }))
}
