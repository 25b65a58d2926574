import { createApp } from '@sluice/accounts'
import { fields } from '@sluice/client-cli/text'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { print } from '../output.ts'
import { addAppLimitsCommand } from './app-limits.ts'
import { addAppManagementCommands } from './app-management.ts'
import { addAppMoveCommand } from './app-move.ts'
import { addAppSetCommand } from './app-settings.ts'
import { addAppPauseCommands } from './pause.ts'

/** Adds the verbs of `sluice apps` (design.md §2, Apps and tokens). */
export function addAppCommands(apps: Command): void {
  addCreateCommand(apps)
  addAppManagementCommands(apps)
  addAppMoveCommand(apps)
  addAppSetCommand(apps)
  addAppLimitsCommand(apps)
  addAppPauseCommands(apps)
}

function addCreateCommand(apps: Command): void {
  const create = apps
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
      print(create, { app_id: appId, api_token: apiToken }, () =>
        fields({ 'App ID': String(appId), 'API token': apiToken }),
      )
    })
}
