import { requireApp } from '@sluice/accounts'
import { readSettings } from '@sluice/config'
import { checkRequest, keyRegistration, type ProfileKeyView } from '@sluice/contract'
import { declareKeys, listKeys } from '@sluice/profiles'
import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { localTime, print, table } from '../output.ts'
import { parseAppId, withDatabase } from '../stack.ts'

/** Adds `sluice keys` and `sluice keys add` (second-day.md §1, Command line). */
export function addKeysCommand(program: Command): void {
  const keys = program
    .command('keys')
    .description('profile keys of an app with their types')
    .option('--app <id>', 'ID of the app', parseAppId)
    .action(async () => {
      const app = appOf(keys)
      const list = await withDatabase(async (db) => {
        await requireApp(db, app)
        return await listKeys(db, app)
      })
      print(keys, list, () => keyTable(list))
    })

  const add = keys
    .command('add')
    .description('register keys with their types, all or none; a registered type is final')
    .argument('<key=type...>', 'for example zip=string; the type follows the last =')
    .option('--app <id>', 'ID of the app', parseAppId)
    .action(async (pairs: string[]) => {
      const app = appOf(add)
      const parsed = checkRequest(keyRegistration, { profile_keys: pairs.map(keyAndType) })
      if ('messages' in parsed) throw new Failure(parsed.messages.join(', '), 2)
      const { PROFILE_KEY_LIMIT: limit } = readSettings(process.env, ['PROFILE_KEY_LIMIT'])
      const list = await withDatabase(async (db) => {
        await requireApp(db, app)
        return await declareKeys(db, app, parsed.value.profile_keys, limit)
      })
      print(add, list, () => keyTable(list))
    })
}

/** Returns the app of a command. `--app` may stand before or after the name of the subcommand. */
function appOf(command: Command): number {
  const { app } = command.optsWithGlobals<{ app?: number }>()
  if (app === undefined) throw new Failure('--app is missing', 2)
  return app
}

/** Splits `zip=string`. A key may contain `=`, a type may not. */
export function keyAndType(pair: string): { key: string; type: string } {
  const at = pair.lastIndexOf('=')
  if (at === -1) throw new Failure(`${pair} should be KEY=TYPE, for example zip=string`, 2)
  return { key: pair.slice(0, at), type: pair.slice(at + 1) }
}

function keyTable(list: readonly ProfileKeyView[]): string {
  return table(
    list.map(({ key, type, registered_at: at }) => ({ KEY: key, TYPE: type, REGISTERED: localTime(at) })),
    'No keys.',
  )
}
