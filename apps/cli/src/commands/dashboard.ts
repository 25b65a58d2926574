import { addOperator, createLink, removeOperator } from '@sluice/sign-in'
import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { fields, print } from '../output.ts'
import { dashboardUrl, withDatabase } from '../stack.ts'

/** `sluice dashboard link`, `sluice operator add` and `remove`. */
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

  const operator = program.command('operator').description('people who see every app and the queues')
  const add = operator
    .command('add')
    .description('let somebody sign in to the dashboard as an operator')
    .requiredOption('--email <address>', 'their e-mail address')
    .option('--json')
    .action(async ({ email }: { email: string }) => {
      const added = await withDatabase((db) => addOperator(db, email))
      print(add, { email, added }, () => (added ? `${email} is an operator.` : `${email} was one already.`))
    })

  const remove = operator
    .command('remove')
    .description('let them be one no more, at once')
    .requiredOption('--email <address>', 'their e-mail address')
    .option('--json')
    .action(async ({ email }: { email: string }) => {
      if (!(await withDatabase((db) => removeOperator(db, email)))) {
        throw new Failure(`${JSON.stringify(email)} is no operator`)
      }
      print(remove, { email, removed: true }, () => `${email} is no operator any more.`)
    })
}
