import { createApp, registerToken } from '@sluice/accounts'
import type { Command } from 'commander'
import { fields, print } from '../output.ts'
import { parseAppId, withDatabase } from '../stack.ts'

/** Adds `sluice app create` and `sluice token register`. */
export function addAppCommands(program: Command): void {
  const create = program
    .command('app')
    .description('manage apps')
    .command('create')
    .description('create an app; its API token is shown only here')
    .requiredOption('--name <name>', 'name of the app')
    .requiredOption('--email <address>', 'member who gets its mails')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async (options: { name: string; email: string }) => {
      const { appId, apiToken } = await withDatabase((db) => createApp(db, options))
      print(create, { app_id: appId, api_token: apiToken }, () => fields({ 'App ID': appId, 'API token': apiToken }))
    })

  const register = program
    .command('token')
    .description('manage API tokens')
    .command('register')
    .description('issue a new API token; the old one stops working at once')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async ({ app }: { app: number }) => {
      const apiToken = await withDatabase((db) => db.transaction().execute((tx) => registerToken(tx, app)))
      print(register, { api_token: apiToken }, () => apiToken)
    })
}
