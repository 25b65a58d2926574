import { Failure } from '@sluice/client-cli/failure'
import { fields } from '@sluice/client-cli/text'
import { createLink } from '@sluice/sign-in'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { print } from '../output.ts'
import { dashboardUrl } from '../stack.ts'

/** Adds `sluice dashboard link`. */
export function addDashboardCommands(dashboard: Command): void {
  const link = dashboard
    .command('link')
    .description('create a link that signs in a member or an operator, once')
    .requiredOption('--email <address>', 'address of the member or operator')
    .action(async ({ email }: { email: string }) => {
      const url = await dashboardUrl()
      const created = await withAudit(
        { appId: undefined, what: 'sign_in.link', target: email },
        (db) => createLink(db, email),
        (link) => ({ outcome: link === undefined ? 'refused' : 'done' }),
      )
      if (created === undefined)
        throw new Failure(
          `${JSON.stringify(email)} is neither a member of an app nor an operator`,
          1,
          'sluice members add --app APP --email EMAIL adds a member',
        )
      const result = { url: `${url}/sign-in/${created.secret}`, expires_at: created.expiresAt.toISOString() }
      print(link, result, () => fields({ Link: result.url, 'Good until': created.expiresAt }))
    })
}
