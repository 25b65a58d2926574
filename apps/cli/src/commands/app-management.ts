import { listAppSummaries, renameApp, showApp, UnknownApp } from '@sluice/accounts'
import { outcomeOf } from '@sluice/audit-log'
import { Failure } from '@sluice/client-cli/failure'
import { count, dateOf, fields, sorted } from '@sluice/client-cli/text'
import { holdIfText } from '@sluice/contract'
import { beginAppDeletion, deleteApp } from '@sluice/deletions'
import { findPauses } from '@sluice/imports'
import type { Command } from 'commander'
import { pino } from 'pino'
import { withAudit } from '../audit.ts'
import { print, printList } from '../output.ts'
import { parseAppId, withDatabase, withStorage } from '../stack.ts'

/** Adds `sluice apps list`, `show`, `rename` and `delete` (second-day.md §6, Apps). */
export function addAppManagementCommands(apps: Command): void {
  const list = apps
    .command('list')
    .description('all apps')
    .action(async () => {
      const [summaries, { ofAllApps }] = await withDatabase(
        async (db) => [await listAppSummaries(db), await findPauses(db)] as const,
      )
      const rows = summaries.map(({ app_id, name, created_at, paused, deleting }) => ({
        APP: String(app_id),
        NAME: name,
        CREATED: dateOf(created_at),
        IMPORTS: deleting ? 'being deleted' : ofAllApps !== null ? 'paused (all apps)' : paused ? 'paused' : 'run',
      }))
      printList(list, summaries, rows, 'No apps.')
    })

  addShowCommand(apps)

  const rename = apps
    .command('rename')
    .description('give an app another name')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .requiredOption('--name <name>', 'new name of the app')
    .action(async ({ app: appId, name }: { app: number; name: string }) => {
      await withAudit(
        { appId, what: 'app.rename', target: name },
        (db) => renameApp(db, appId, name),
        (isChange) => ({ outcome: outcomeOf(isChange) }),
      )
      print(rename, { app_id: appId, name }, () => `App ${appId} is ${name} now.`)
    })

  addDeleteCommand(apps)
}

function addShowCommand(apps: Command): void {
  const show = apps
    .command('show')
    .description('an app with its members, figures and limits')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .action(({ app: appId }: { app: number }) => printApp(show, appId))
}

/** Prints an app, as the output of a command. Throws `UnknownApp`. */
export async function printApp(command: Command, appId: number): Promise<void> {
  const view = await withDatabase((db) => showApp(db, appId))
  print(command, view, () =>
    fields({
      App: String(view.app_id),
      Name: view.name,
      Created: dateOf(view.created_at),
      'Paused since': dateOf(view.paused_at),
      Token: view.token_last_four && `…${view.token_last_four}`,
      Members: view.members.map(({ email }) => email).join(', '),
      Users: view.users,
      'Profile keys': view.profile_keys,
      Imports: sorted(view.imports)
        .map(([state, number]) => `${count(number)} ${state}`)
        .join(', '),
      'New keys': view.new_keys,
      'Changes are kept': view.keep_changes ? 'yes' : 'no',
      'Imports are held': holdIfText(view.hold_if),
      'Limit of bulk imports': view.limits.bulk_import ?? 'as the settings say',
      'Limit of profile keys': view.limits.profile_keys ?? 'as the settings say',
    }),
  )
}

function addDeleteCommand(apps: Command): void {
  const remove = apps
    .command('delete')
    .description('delete an app with its users, profiles, imports, files, keys and tokens; this cannot be undone')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .option('--yes', 'confirm the deletion')
    .action(async ({ app: appId, yes }: { app: number; yes?: true }) => {
      if (yes === undefined) throw new Failure(`add --yes to delete app ${appId}; this cannot be undone`, 2)
      const log = pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true }))
      const deleted = await withStorage((storage) =>
        withAudit({ appId, what: 'app.delete' }, async (db) => {
          if (!(await beginAppDeletion(db, appId))) throw new UnknownApp(appId)
          // If this command is interrupted, the workers continue.
          return await deleteApp({ db, storage, log }, appId)
        }),
      )
      const { users = 0, imports = 0 } = deleted
      print(remove, { app_id: appId, deleted: true, users, imports }, () =>
        fields({ 'Deleted app': String(appId), Users: users, Imports: imports }),
      )
    })
}
