import { addOperator, createLink } from '@sluice/sign-in'
import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { fields, print } from '../output.ts'
import { dashboardUrl, withDatabase } from '../stack.ts'

/** `sluice dashboard link` and `sluice operator add`. */
export function addDashboardCommands(program: Command): void {
  const link = program
    .command('dashboard')
    .description('the dashboard')
    .command('link')
    .description('make a link that signs a member or an operator in, once')
    .requiredOption('--email <address>', 'whom it is for')
    .option('--json')
    .action(async ({ email }: { email: string }) => {
      const dashboard = await dashboardUrl()
      const made = await withDatabase((db) => createLink(db, email))
      if (made === undefined)
        throw new Failure(`${JSON.stringify(email)} is neither a member of an app nor an operator`)
      const result = { url: `${dashboard}/sign-in/${made.secret}`, expires_at: made.expiresAt.toISOString() }
      print(link, result, () => fields({ Link: result.url, 'Good until': result.expires_at }))
    })

  const add = program
    .command('operator')
    .description('people who see every app and the queues')
    .command('add')
    .description('let somebody sign in to the dashboard as an operator')
    .requiredOption('--email <address>', 'their e-mail address')
    .option('--json')
    .action(async ({ email }: { email: string }) => {
      const added = await withDatabase((db) => addOperator(db, email))
      print(add, { email, added }, () => (added ? `${email} is an operator.` : `${email} was one already.`))
    })
}
