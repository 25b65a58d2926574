import { sql } from '@sluice/database'
import type { MailId } from '@sluice/mail'
import { complete, dueCompletions } from './complete.ts'
import type { DeletionContext } from './context.ts'

/** The result of a run of deletion maintenance. */
export interface DeletionRun {
  /** Number of requests that the run started, and number of requests that it completed. */
  started: number
  completed: number
  /** Registered users who were deleted. */
  usersDeleted: number
  /** New mails of the outbox. */
  mails: MailId[]
}

/**
 * Starts and completes the deletions that are due at `now`, however long ago they became due
 * (service.md, States and transitions). Several processes may run this at once. If a run is interrupted, the next run
 * does the rest.
 *
 * If deletions of some apps fail, it runs all others and then throws an AggregateError. Throws an AbortError if the
 * process shuts down.
 */
export async function runDeletions(context: DeletionContext, now: Date): Promise<DeletionRun> {
  const run: DeletionRun = { started: await start(context, now), completed: 0, usersDeleted: 0, mails: [] }
  const failures: unknown[] = []
  for (const due of await dueCompletions(context.db, now)) {
    try {
      const { completed, usersDeleted, mails } = await complete(context, due, now)
      run.completed += completed
      run.usersDeleted += usersDeleted
      run.mails.push(...mails)
    } catch (error) {
      context.shutdown?.throwIfAborted()
      failures.push(error)
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'deletions are not complete')
  return run
}

/** Maximum number of requests that one transaction starts. */
const batchRequests = 1_000

async function start({ db, log, shutdown }: DeletionContext, now: Date): Promise<number> {
  let started = 0
  for (;;) {
    shutdown?.throwIfAborted()
    const { numAffectedRows } = await sql`
      update deletion_requests set state = 'started', started_at = ${now}
      where (app_id, request_id) in (
        select app_id, request_id from deletion_requests
        where state = 'accepted' and starts_at <= ${now}
        order by starts_at limit ${batchRequests} for update skip locked
      )
    `.execute(db)
    const requests = Number(numAffectedRows ?? 0)
    if (requests > 0) log.info({ requests }, 'deletions started')
    started += requests
    if (requests < batchRequests) return started
  }
}
