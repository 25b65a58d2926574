import { type Database, sql } from '@sluice/database'
import { deletionNotification, enqueueMails, type MailId } from '@sluice/mail'
import { enqueueEvent } from '@sluice/webhooks'
import type { DeletionContext } from './context.ts'
import { localDay } from './dates.ts'
import type { DueCompletion } from './delete-users.ts'
import { lockApp } from './lock.ts'
import { userData } from './user-data.ts'

/** Maximum number of requests that one transaction closes. */
const batchRequests = 1_000

/** Returns the completions that are due at `now`, earliest first. */
export async function dueCompletions(db: Database, now: Date): Promise<DueCompletion[]> {
  const rows = await db
    .selectFrom('deletion_requests')
    .select(['app_id', 'completes_at'])
    .distinct()
    .where('state', '!=', 'completed')
    .where('completes_at', '<=', now)
    .orderBy('completes_at')
    .orderBy('app_id')
    .execute()
  return rows.map((row) => ({ appId: row.app_id, completesAt: row.completes_at }))
}

/**
 * Completes the requests of one app and date. It deletes the users, and clears every store of {@link userData}. Then it
 * closes the requests and records the mails and webhook deliveries. Each step commits on its own and may be repeated.
 * Thus the next call recovers from a crash, and several processes may run it at once.
 *
 * Returns how many requests it completed, how many users it deleted, and the new mails. Throws if the process shuts
 * down, or if storage does not remove a file. In both cases it reports nothing as completed.
 */
export async function complete(
  context: DeletionContext,
  due: DueCompletion,
  now: Date,
): Promise<{ completed: number; usersDeleted: number; mails: MailId[] }> {
  let [usersDeleted, failures] = [0, 0]
  for (const step of userData) {
    const cleared = await step.run(context, due, now)
    usersDeleted += cleared.users ?? 0
    failures += cleared.failures ?? 0
  }
  if (failures > 0)
    throw new Error(`${failures} imports, exports and files of app ${due.appId} could not be removed from storage`)
  const mails: MailId[] = []
  let completed = 0
  for (;;) {
    context.shutdown?.throwIfAborted()
    const closed = await context.db.transaction().execute((tx) => closeBatch(tx, context, due, now))
    completed += closed.requests
    mails.push(...closed.mails)
    if (closed.requests < batchRequests) return { completed, usersDeleted, mails }
  }
}

/**
 * Closes requests of this date, and then later requests whose users are all deleted already. The transaction that
 * closes the last request of the date also records its mails.
 *
 * Returns how many requests it closed. The number is less than `batchRequests` if none remain.
 */
async function closeBatch(
  tx: Database,
  { settings, log }: DeletionContext,
  due: DueCompletion,
  now: Date,
): Promise<{ requests: number; mails: MailId[] }> {
  const { appId, completesAt } = due
  await lockApp(tx, appId)
  const closed = await sql`
    update deletion_requests
    set state = 'completed', completed_at = ${now}, started_at = coalesce(started_at, ${now})
    where app_id = ${appId} and request_id in (
      select request_id from deletion_requests r
      where app_id = ${appId} and state <> 'completed'
        and (completes_at = ${completesAt} or completes_at > ${completesAt} and users_processed = 0)
        and not exists (
          select from deletion_request_users d where d.app_id = r.app_id and d.request_id = r.request_id
        )
      order by completes_at limit ${batchRequests}
    )
  `.execute(tx)
  const requests = Number(closed.numAffectedRows ?? 0)
  log.info({ app_id: appId, completes_at: completesAt, requests }, 'deletions completed')
  return { requests, mails: await announceCompletion(tx, settings.SERVICE_TIMEZONE, due) }
}

/**
 * Records the mails and the webhook deliveries of a date (design.md §3, Deletion mail; service.md, Events) if all its
 * requests are closed, unless earlier dates already deleted all its users. Returns the mails.
 */
async function announceCompletion(
  tx: Database,
  timeZone: string,
  { appId, completesAt }: DueCompletion,
): Promise<MailId[]> {
  const { rows } = await sql<{
    is_open: boolean
    processed: number
    deleted: number
    requests: number
    completed_at: Date | null
  }>`
    select bool_or(state <> 'completed') as is_open, sum(users_processed) as processed, sum(users_deleted) as deleted,
      count(*) as requests, max(completed_at) as completed_at
    from deletion_requests where app_id = ${appId} and completes_at = ${completesAt}
  `.execute(tx)
  const date = rows[0]
  if (date === undefined || date.is_open || date.processed === 0) return []
  const completedAt = (date.completed_at ?? completesAt).toISOString()
  // second-day.md §5, Event bodies.
  await enqueueEvent(tx, appId, {
    type: 'deletion.completed',
    id: completesAt.toISOString(),
    timestamp: completedAt,
    data: { completed_at: completedAt, requests: date.requests, users: date.deleted },
  })
  const app = await tx.selectFrom('apps').select('name').where('app_id', '=', appId).executeTakeFirstOrThrow()
  const day = localDay(completesAt, timeZone)
  const content = deletionNotification({ appName: app.name, day, usersDeleted: date.deleted })
  return await enqueueMails(tx, appId, `deletion:${completesAt.toISOString()}`, content)
}
