import { registerToken } from '@sluice/accounts'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { print } from '../output.ts'
import { parseAppId } from '../stack.ts'

/** Adds `sluice tokens register`. */
export function addTokenCommands(tokens: Command): void {
  const register = tokens
    .command('register')
    .description('issue a new API token; the old one stops working at once')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .action(async ({ app }: { app: number }) => {
      const apiToken = await withAudit(
        { appId: app, what: 'token.register' },
        (db) => db.transaction().execute((tx) => registerToken(tx, app)),
        (token) => ({ target: `…${token.slice(-4)}` }),
      )
      print(register, { api_token: apiToken }, () => apiToken)
    })
}
