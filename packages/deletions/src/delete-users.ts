import { setTimeout as delay } from 'node:timers/promises'
import { type Database, lookUpByIndex, retryConflicts, sql } from '@sluice/database'
import type { DeletionContext } from './context.ts'
import { lockApp } from './lock.ts'

/** All of an app's deletion requests that complete at one instant. */
export interface DueCompletion {
  appId: number
  completesAt: Date
}

/**
 * After each batch the process rests this many times as long as the batch took, so that deletion never has more than
 * about half of what the database can do, whatever else it has to do (docs/decisions.md, Deletion requests).
 */
const restPerBatch = 1

/**
 * Deletes the users whom the requests of a date name, batch by batch. What is gone stays gone when it breaks off, and the
 * next call goes on; calls in several processes take turns.
 *
 * Gives how many were registered. Throws an AbortError when the process shuts down.
 */
export async function deleteUsers(context: DeletionContext, due: DueCompletion, now: Date): Promise<number> {
  const { db, log, settings, shutdown } = context
  let deleted = 0
  let after: Cursor | null = firstCursor
  while (after !== null) {
    shutdown?.throwIfAborted()
    const last: Cursor = after
    const began = performance.now()
    const batch = await retryConflicts(() =>
      db.transaction().execute((tx) => deleteBatch(tx, due, last, settings.DELETION_BATCH_USERS, now)),
    )
    const took = performance.now() - began
    deleted += batch.users_deleted
    after = batch.last
    log.info({ app_id: due.appId, users: batch.users_deleted, ms: Math.round(took) }, 'users deleted')
    await delay(took * restPerBatch, undefined, { signal: shutdown })
  }
  return deleted
}

/** The last user of a batch, to go on after: so the traces of the batches before need not be passed over again. */
interface Cursor {
  request_id: string
  user_id: string
}

const firstCursor: Cursor = { request_id: '00000000-0000-0000-0000-000000000000', user_id: '' }

interface Batch {
  users_deleted: number
  /** Null where there are no more. */
  last: Cursor | null
}

/**
 * Deletes the next users with their values, and settles every request that names them: their ID gives way to its hash.
 * An import that has found one of them just before updates nothing: the row is gone.
 *
 * A batch goes over the borders of requests: an app may send a request for each user.
 */
async function deleteBatch(
  tx: Database,
  { appId, completesAt }: DueCompletion,
  after: Cursor,
  users: number,
  now: Date,
): Promise<Batch> {
  await lockApp(tx, appId)
  await lookUpByIndex(tx)
  // `doomed`: who is named by two requests that are due counts for one of them.
  const { rows } = await sql<Batch>`
    with named as materialized (
      select r.request_id, d.user_id
      from deletion_requests r cross join lateral (
        select user_id from deletion_request_users
        where app_id = ${appId}::integer and request_id = r.request_id
          and user_id > case when r.request_id = ${after.request_id}::uuid then ${after.user_id} else '' end
        order by user_id limit ${users}::integer
      ) d
      where r.app_id = ${appId}::integer and r.completes_at = ${completesAt}::timestamptz and r.state <> 'completed'
        and r.request_id >= ${after.request_id}::uuid
      order by r.request_id, d.user_id limit ${users}::integer
    ), doomed as materialized (
      select distinct on (user_id) ${appId}::integer as app_id, user_id, request_id from named order by user_id, request_id
    ), gone as (
      delete from users u using doomed n where u.app_id = n.app_id and u.user_id = n.user_id
      returning n.request_id, (select count(*) from jsonb_object_keys(u.attributes)) as values
    ), settled as (
      delete from deletion_request_users d using doomed n where d.app_id = n.app_id and d.user_id = n.user_id
      returning d.request_id, d.user_id
    ), proof as (
      insert into deleted_users (app_id, request_id, user_hash, deleted_at)
      select r.app_id, r.request_id, sha256(r.salt || convert_to(s.user_id, 'UTF8')), ${now}::timestamptz
      from settled s join deletion_requests r on r.app_id = ${appId}::integer and r.request_id = s.request_id
    ), counts as (
      select request_id, count(*) as settled, 0 as deleted, 0 as values from doomed group by request_id
      union all
      select request_id, 0, count(*), sum(values) from gone group by request_id
    ), counted as (
      update deletion_requests r
      set users_settled = r.users_settled + c.settled, users_deleted = r.users_deleted + c.deleted,
        values_deleted = r.values_deleted + c.values
      from (
        select request_id, sum(settled) as settled, sum(deleted) as deleted, sum(values) as values
        from counts group by request_id
      ) c
      where r.app_id = ${appId}::integer and r.request_id = c.request_id
    )
    select (select count(*) from gone) as users_deleted, (
      select json_build_object('request_id', request_id, 'user_id', user_id) from named
      where (select count(*) from named) = ${users}::integer
      order by request_id desc, user_id desc limit 1
    ) as last
  `.execute(tx)
  return rows[0] ?? { users_deleted: 0, last: null }
}
