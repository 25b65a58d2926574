import { addMember } from '@sluice/accounts'
import { outcomeOf } from '@sluice/audit-log'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { print } from '../output.ts'
import { parseAppId } from '../stack.ts'

export function addMemberCommands(members: Command): void {
  const add = members
    .command('add')
    .description('add a member; the address counts as confirmed, so no link is mailed')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .requiredOption('--email <address>', 'their e-mail address')
    .action(async ({ app, email }: { app: number; email: string }) => {
      const added = await withAudit(
        { appId: app, what: 'member.add', target: email },
        async (db) => await addMember(db, app, email),
        (isNew) => ({ outcome: outcomeOf(isNew) }),
      )
      print(add, { app_id: app, email, added }, () =>
        added ? `${email} is a member of app ${app}.` : `${email} was a member already.`,
      )
    })
}
