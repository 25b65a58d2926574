import { createApp } from '@sluice/accounts'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { fields, print } from '../output.ts'
import { addAppLimitsCommand } from './app-limits.ts'
import { addAppManagementCommands } from './app-management.ts'
import { addAppSetCommand } from './app-settings.ts'
import { addAppPauseCommands } from './pause.ts'

/** Adds the commands of `sluice app` (design.md §2, Apps and tokens). */
export function addAppCommand(program: Command): void {
  const app = program.command('app').description('manage apps')
  addAppSetCommand(app)
  addAppPauseCommands(app)
  addAppManagementCommands(app)
  addAppLimitsCommand(app)
  const create = app
    .command('create')
    .description('create an app; its API token is shown only here')
    .requiredOption('--name <name>', 'name of the app')
    .requiredOption('--email <address>', 'member who gets its mails')
    .action(async (options: { name: string; email: string }) => {
      const { appId, apiToken } = await withAudit(
        { appId: undefined, what: 'app.create', target: options.name },
        (db) => createApp(db, options),
        ({ appId }) => ({ appId }),
      )
      print(create, { app_id: appId, api_token: apiToken }, () => fields({ 'App ID': appId, 'API token': apiToken }))
    })
}
