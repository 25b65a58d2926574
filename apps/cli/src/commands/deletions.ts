import { requireApp } from '@sluice/accounts'
import { readSettings } from '@sluice/config'
import { currentTime } from '@sluice/database'
import { type DeletionRequestView, deletionSettings, listDeletions, runDeletions } from '@sluice/deletions'
import { type Command, InvalidArgumentError } from 'commander'
import { pino } from 'pino'
import { withAudit } from '../audit.ts'
import { Failure } from '../failure.ts'
import { fields, print, table } from '../output.ts'
import { parseAppId, withDatabase, withStorage } from '../stack.ts'

const listLimit = 1000

/** Adds `sluice deletions` and `sluice deletions run` (design.md §2, Deletions). */
export function addDeletionCommands(program: Command): void {
  const list = program
    .command('deletions')
    .description(`deletion requests of an app, newest first (at most ${listLimit})`)
    .option('--app <id>', 'ID of the app', parseAppId)
    .action(async ({ app }: { app?: number }) => {
      // With requiredOption, commander would require --app for `deletions run` as well.
      if (app === undefined) throw new Failure('--app is missing', 2)
      const requests = await withDatabase(async (db) => {
        await requireApp(db, app)
        return await listDeletions(db, app, listLimit)
      })
      print(list, requests, () => table(requests.map(summaryRow), 'No deletion requests.'))
    })

  const run = list
    .command('run')
    .description(
      'start and complete the deletions that are due, as the workers do every minute; deleted data cannot be restored',
    )
    .option('--now <time>', 'run as if this were the current time (ISO 8601)', parseTime)
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

/** Parses `--now`. A time without an offset is in UTC; a date alone means midnight. */
function parseTime(text: string): Date {
  const parts = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(Z|[+-]\d\d:\d\d)?$/.exec(text)
  const [, day = '', time = 'T00:00', offset = 'Z'] = parts ?? []
  const instant = new Date(day + time + offset)
  if (Number.isNaN(instant.getTime())) {
    throw new InvalidArgumentError('It must be a time such as 2026-03-07T00:00:00Z.')
  }
  return instant
}

function summaryRow(request: DeletionRequestView) {
  return {
    REQUEST: request.request_id,
    STATE: request.state,
    TOKEN: request.token_last_four === null ? 'dashboard' : `…${request.token_last_four}`,
    USERS: request.users_requested,
    DELETED: request.users_deleted,
    ACCEPTED: request.accepted_at,
    STARTS: request.starts_at,
    COMPLETES: request.completes_at,
  }
}
