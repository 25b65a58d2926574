import { requireApp } from '@sluice/accounts'
import { registeredKeys } from '@sluice/profiles'
import type { Command } from 'commander'
import { print, table } from '../output.ts'
import { parseAppId, withDatabase } from '../stack.ts'

/** Adds `sluice keys`. */
export function addKeysCommand(program: Command): void {
  const keys = program
    .command('keys')
    .description('profile keys of an app with their types')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async ({ app }: { app: number }) => {
      const registered = await withDatabase(async (db) => {
        await requireApp(db, app)
        return await registeredKeys(db, app)
      })
      const list = [...registered].map(([key, type]) => ({ key, type }))
      print(keys, list, () =>
        table(
          list.map(({ key, type }) => ({ KEY: key, TYPE: type })),
          'No keys.',
        ),
      )
    })
}
