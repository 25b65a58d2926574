import { requireApp } from '@sluice/accounts'
import { dateOf, fields } from '@sluice/client-cli/text'
import { readSettings } from '@sluice/config'
import { currentTime } from '@sluice/database'
import { type DeletionRequestView, deletionSettings, listDeletions, runDeletions } from '@sluice/deletions'
import type { Command } from 'commander'
import { pino } from 'pino'
import { withAudit } from '../audit.ts'
import { print, printList } from '../output.ts'
import { parseTime, timeForms } from '../parse-time.ts'
import { parseAppId, withDatabase, withStorage } from '../stack.ts'

const listLimit = 1000

/** Adds `sluice deletions list` and `sluice deletions run` (design.md §2, Deletions). */
export function addDeletionCommands(deletions: Command): void {
  const list = deletions
    .command('list')
    .description(`deletion requests of an app, newest first (at most ${listLimit})`)
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .action(async ({ app }: { app: number }) => {
      const requests = await withDatabase(async (db) => {
        await requireApp(db, app)
        return await listDeletions(db, app, listLimit)
      })
      printList(list, requests, requests.map(summaryRow), 'No deletion requests.')
    })

  const run = deletions
    .command('run')
    .description(
      'start and complete the deletions that are due, as the workers do every minute; deleted data cannot be restored',
    )
    .option('--now <time>', `run as if this were the current time (${timeForms})`, parseTime)
    .action(async ({ now }: { now?: Date }) => {
      const settings = readSettings(process.env, deletionSettings)
      const log = pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true }))
      const done = await withAudit(
        { appId: undefined, what: 'deletion.run', target: now && `as of ${now.toISOString()}` },
        (db) =>
          withStorage(
            async (storage) => await runDeletions({ db, storage, settings, log }, now ?? (await currentTime(db))),
          ),
      )
      const result = {
        started: done.started,
        completed: done.completed,
        users_deleted: done.usersDeleted,
        mails: done.mails.length,
      }
      print(run, result, () =>
        fields({
          'Requests started': result.started,
          'Requests completed': result.completed,
          'Users deleted': result.users_deleted,
          Mails: result.mails,
        }),
      )
    })
}

function summaryRow(request: DeletionRequestView) {
  return {
    REQUEST: request.request_id,
    STATE: request.state,
    COMPLETES: dateOf(request.completes_at),
    USERS: request.users_requested,
    DELETED: request.users_deleted,
    ACCEPTED: dateOf(request.accepted_at),
    STARTS: dateOf(request.starts_at),
    TOKEN: request.token_last_four === null ? 'dashboard' : `…${request.token_last_four}`,
  }
}
