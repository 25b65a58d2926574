import { addOperator, createLink, removeOperator } from '@sluice/sign-in'
import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { fields, print } from '../output.ts'
import { dashboardUrl, withDatabase } from '../stack.ts'

/** Adds `sluice dashboard link`, `sluice operator add` and `sluice operator remove`. */
export function addDashboardCommands(program: Command): void {
  const link = program
    .command('dashboard')
    .description('links to the dashboard')
    .command('link')
    .description('create a link that signs in a member or an operator, once')
    .requiredOption('--email <address>', 'address of the member or operator')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async ({ email }: { email: string }) => {
      const dashboard = await dashboardUrl()
      const created = await withDatabase((db) => createLink(db, email))
      if (created === undefined)
        throw new Failure(`${JSON.stringify(email)} is neither a member of an app nor an operator`)
      const result = { url: `${dashboard}/sign-in/${created.secret}`, expires_at: created.expiresAt.toISOString() }
      print(link, result, () => fields({ Link: result.url, 'Good until': result.expires_at }))
    })

  const operator = program.command('operator').description('manage operators, who see every app and the queues')
  const add = operator
    .command('add')
    .description('add an operator, who can sign in to the dashboard')
    .requiredOption('--email <address>', 'their e-mail address')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async ({ email }: { email: string }) => {
      const added = await withDatabase((db) => addOperator(db, email))
      print(add, { email, added }, () => (added ? `${email} is an operator.` : `${email} was an operator already.`))
    })

  const remove = operator
    .command('remove')
    .description('remove an operator and end their sessions at once')
    .requiredOption('--email <address>', 'their e-mail address')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async ({ email }: { email: string }) => {
      if (!(await withDatabase((db) => removeOperator(db, email)))) {
        throw new Failure(`${JSON.stringify(email)} is not an operator`)
      }
      print(remove, { email, removed: true }, () => `${email} is no longer an operator.`)
    })
}
