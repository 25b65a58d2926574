import { requireApp } from '@sluice/accounts'
import { readSettings } from '@sluice/config'
import { checkRequest, keyRegistration, type ProfileKeyView } from '@sluice/contract'
import { declareKeys, listKeys } from '@sluice/profiles'
import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { dateOf, print, printList, table } from '../output.ts'
import { parseAppId, withDatabase } from '../stack.ts'

/** Adds `sluice keys list` and `sluice keys add` (second-day.md §1, Command line). */
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
}

/** Splits `zip=string`. A key may contain `=`, a type may not. */
export function keyAndType(pair: string): { key: string; type: string } {
  const at = pair.lastIndexOf('=')
  if (at === -1) throw new Failure(`${pair} should be KEY=TYPE, for example zip=string`, 2)
  return { key: pair.slice(0, at), type: pair.slice(at + 1) }
}

const noKeys = 'No keys.'

function rowsOf(keys: readonly ProfileKeyView[]) {
  return keys.map(({ key, type, registered_at: at }) => ({ KEY: key, TYPE: type, REGISTERED: dateOf(at) }))
}
