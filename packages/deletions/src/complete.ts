import { type Database, lookUpByIndex, retryConflicts, sql } from '@sluice/database'
import { removeFilesOfApp } from '@sluice/imports'
import { deletionNotification, enqueueMails, type MailId } from '@sluice/mail'
import type { DeletionContext } from './context.ts'
import { localDay } from './dates.ts'

/** Users deleted in one transaction: few enough that a profile update never waits long for one of their locks. */
const batchUsers = 2_000

/** All of an app's deletion requests that complete at one instant. */
export interface DueCompletion {
  appId: number
  completesAt: Date
}

/** What is due at `now`, earliest first. */
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
 * Completes what is due: users, stored files, then the state of the requests together with the mails. Each step commits
 * on its own and may be repeated, so that whoever comes after a crash goes on, and several processes may do it at once.
 *
 * Gives how many requests it completed, how many users it deleted, and the new mails. Throws when the process shuts down,
 * and where storage does not let the files go: then nothing is reported as completed.
 */
export async function complete(
  context: DeletionContext,
  due: DueCompletion,
  now: Date,
): Promise<{ completed: number; usersDeleted: number; mails: MailId[] }> {
  let usersDeleted = 0
  for (const requestId of await openRequests(context.db, due)) {
    usersDeleted += await deleteUsers(context, due.appId, requestId, now)
  }
  const failures = await removeFilesOfApp(context, due.appId)
  if (failures > 0) throw new Error(`the stored files of ${failures} imports of app ${due.appId} could not be removed`)
  const { completed, mails } = await context.db.transaction().execute((tx) => close(tx, context, due, now))
  return { completed, usersDeleted, mails }
}

async function openRequests(db: Database, { appId, completesAt }: DueCompletion): Promise<string[]> {
  const rows = await db
    .selectFrom('deletion_requests')
    .select('request_id')
    .where('app_id', '=', appId)
    .where('state', '!=', 'completed')
    .where('completes_at', '=', completesAt)
    .orderBy('accepted_at')
    .execute()
  return rows.map((row) => row.request_id)
}

/** Deletes the users of a request, batch by batch. Gives how many were registered. */
async function deleteUsers(context: DeletionContext, appId: number, requestId: string, now: Date): Promise<number> {
  const { db, log, shutdown } = context
  let deleted = 0
  let after: string | null = ''
  while (after !== null) {
    shutdown?.throwIfAborted()
    const last: string = after
    const began = performance.now()
    const batch: Batch = await retryConflicts(() =>
      db.transaction().execute((tx) => deleteBatch(tx, appId, requestId, last, now)),
    )
    deleted += batch.users_deleted
    after = batch.last
    const took = Math.round(performance.now() - began)
    log.info({ app_id: appId, request_id: requestId, users: batch.users_deleted, ms: took }, 'users deleted')
  }
  return deleted
}

interface Batch {
  users_deleted: number
  /** The last user ID of the batch, to go on after; null where there are no more. */
  last: string | null
}

/**
 * Deletes the next users of a request with their values, and settles every request that names them: their ID gives way
 * to its hash. An import that has found one of them just before updates nothing: the row is gone.
 *
 * Takes the ID to go on after, so that the traces of the batches before need not be passed over again.
 */
async function deleteBatch(tx: Database, appId: number, requestId: string, after: string, now: Date): Promise<Batch> {
  await lockApp(tx, appId)
  await lookUpByIndex(tx)
  const { rows } = await sql<Batch>`
    with named as materialized (
      select user_id from deletion_request_users
      where app_id = ${appId}::integer and request_id = ${requestId}::uuid and user_id > ${after}
      order by user_id limit ${batchUsers}
    ), gone as (
      delete from users u using named n where u.app_id = ${appId}::integer and u.user_id = n.user_id
      returning (select count(*) from jsonb_object_keys(u.attributes)) as values
    ), settled as (
      delete from deletion_request_users d using named n where d.app_id = ${appId}::integer and d.user_id = n.user_id
      returning d.request_id, d.user_id
    ), proof as (
      insert into deleted_users (app_id, request_id, user_hash, deleted_at)
      select r.app_id, r.request_id, sha256(r.salt || convert_to(s.user_id, 'UTF8')), ${now}::timestamptz
      from settled s join deletion_requests r on r.app_id = ${appId}::integer and r.request_id = s.request_id
    ), counted as (
      update deletion_requests r
      set users_settled = r.users_settled + (select count(*) from named),
        users_deleted = r.users_deleted + (select count(*) from gone),
        values_deleted = r.values_deleted + (select coalesce(sum(values), 0) from gone)
      where r.app_id = ${appId}::integer and r.request_id = ${requestId}::uuid and exists (select from named)
    )
    select (select count(*) from gone) as users_deleted, (
      select case when count(*) = ${batchUsers}::integer then max(user_id) end from named
    ) as last
  `.execute(tx)
  return rows[0] ?? { users_deleted: 0, last: null }
}

/**
 * Writes that the requests of this date are completed, and later ones that name only users who are gone by now; and puts
 * the mails of the date into the outbox, unless earlier dates have left it nothing to do.
 */
async function close(
  tx: Database,
  { settings, log }: DeletionContext,
  { appId, completesAt }: DueCompletion,
  now: Date,
) {
  await lockApp(tx, appId)
  const { rows } = await sql<{ request_id: string; users_settled: number; users_deleted: number }>`
    update deletion_requests r
    set state = 'completed', completed_at = ${now}, started_at = coalesce(started_at, ${now})
    where app_id = ${appId} and state <> 'completed'
      and (completes_at = ${completesAt} or completes_at > ${completesAt} and users_settled = 0)
      and not exists (
        select from deletion_request_users d where d.app_id = r.app_id and d.request_id = r.request_id
      )
    returning request_id, users_settled, users_deleted
  `.execute(tx)
  for (const { request_id } of rows) log.info({ app_id: appId, request_id }, 'deletion completed')
  if (rows.every((row) => row.users_settled === 0)) return { completed: rows.length, mails: [] }
  const app = await tx.selectFrom('apps').select('name').where('app_id', '=', appId).executeTakeFirstOrThrow()
  const content = deletionNotification({
    appName: app.name,
    day: localDay(completesAt, settings.SERVICE_TIMEZONE),
    usersDeleted: rows.reduce((sum, row) => sum + row.users_deleted, 0),
  })
  const mails = await enqueueMails(tx, appId, `deletion:${completesAt.toISOString()}`, content)
  return { completed: rows.length, mails }
}

/** First key of the lock, so that it is nobody else's: "dele" in ASCII. */
const lockSpace = 0x64656c65

/** Two requests may name one user: of an app's deletions one transaction runs at a time. */
async function lockApp(tx: Database, appId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${lockSpace}::integer, ${appId}::integer)`.execute(tx)
}
