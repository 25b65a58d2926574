import { outcomeOf } from '@sluice/audit-log'
import { Failure } from '@sluice/client-cli/failure'
import { addOperator, isLastOperator, listOperators, removeOperator } from '@sluice/sign-in'
import type { Command } from 'commander'
import { ask } from '../ask.ts'
import { withAudit } from '../audit.ts'
import { print, printList } from '../output.ts'
import { withDatabase } from '../stack.ts'

/** Adds `sluice operators add`, `list` and `remove`. */
export function addOperatorCommands(operators: Command): void {
  const add = operators
    .command('add')
    .description('add an operator, who can sign in to the dashboard')
    .requiredOption('--email <address>', 'their e-mail address')
    .action(async ({ email }: { email: string }) => {
      const added = await withAudit(
        { appId: undefined, what: 'operator.add', target: email },
        (db) => addOperator(db, email),
        (isNew) => ({ outcome: outcomeOf(isNew) }),
      )
      print(add, { email, added }, () => (added ? `${email} is an operator.` : `${email} was an operator already.`))
    })

  const list = operators
    .command('list')
    .description('operators by e-mail address, except those whom an OpenID Connect provider names')
    .action(async () => {
      const found = await withDatabase(listOperators)
      const shown = found.map(({ email, createdAt }) => ({ email, created_at: createdAt.toISOString() }))
      const rows = found.map(({ email, createdAt }) => ({ EMAIL: email, CREATED: createdAt }))
      printList(list, shown, rows, 'No operators: sluice operators add makes one.')
    })

  const remove = operators
    .command('remove')
    .description('remove an operator and end their sessions at once')
    .requiredOption('--email <address>', 'their e-mail address')
    .action(async ({ email }: { email: string }) => {
      const isLast = await withDatabase((db) => isLastOperator(db, email))
      // Programs that remove an operator have no terminal, and nobody to answer.
      if (isLast && process.stdin.isTTY) await ask(`${lastOperatorText(email)}\nRemove ${email}?`)
      const removed = await withAudit(
        { appId: undefined, what: 'operator.remove', target: email },
        (db) => removeOperator(db, email),
        (found) => ({ outcome: found ? 'done' : 'refused' }),
      )
      if (!removed) {
        throw new Failure(`${JSON.stringify(email)} is not an operator`)
      }
      const left = isLast ? ` ${noOperatorsText}` : ''
      print(remove, { email, removed: true }, () => `${email} is no longer an operator.${left}`)
    })
}

const noOperatorsText = 'No operators are left: sluice operators add makes one.'

/** Returns what the removal of the last operator means. */
function lastOperatorText(email: string): string {
  return `${email} is the last operator. Without one, nobody can sign in as an operator, except members of
OIDC_OPERATOR_GROUP. To add one again: sluice operators add --email <address>`
}
