import { setTimeout as delay } from 'node:timers/promises'
import { newestFileAt } from '@sluice/bucket-uploads'
import { type Database, encodeTextArray, lookUpByIndex, retryConflicts, sql } from '@sluice/database'
import { lockUsersForDeletion, recentlyDeletedHash } from '@sluice/profiles'
import type { DeletionContext } from './context.ts'
import { lockApp } from './lock.ts'

/** All of an app's deletion requests that complete at one instant. */
export interface DueCompletion {
  appId: number
  completesAt: Date
}

/**
 * After each batch, the process pauses this many times as long as the batch took. Deletion thus never uses more than
 * about half of the database's capacity, whatever else the database has to do (docs/decisions.md, Deletions).
 */
const restPerBatch = 1

/**
 * Deletes the users that the requests of a date name, batch by batch. If it is interrupted, committed batches stay
 * deleted, and the next call continues. Batches of concurrent processes run one after the other.
 *
 * Returns how many of the users were registered. Throws an AbortError if the process shuts down.
 */
export async function deleteUsers(context: DeletionContext, due: DueCompletion, now: Date): Promise<number> {
  const { db, log, settings, shutdown } = context
  const limits = { filesUntil: await filesUntil(context, due.appId), users: settings.DELETION_BATCH_USERS }
  const deletion: Deletion = { ...due, ...limits, now }
  let deleted = 0
  let after: Cursor | null = firstCursor
  while (after !== null) {
    shutdown?.throwIfAborted()
    const last: Cursor = after
    const began = performance.now()
    const batch = await retryConflicts(() => db.transaction().execute((tx) => deleteBatch(tx, deletion, last)))
    const took = performance.now() - began
    const users = batch.gone.user_ids.length
    deleted += users
    after = batch.last
    log.info({ app_id: due.appId, users, ms: Math.round(took) }, 'users deleted')
    await delay(took * restPerBatch, undefined, { signal: shutdown })
  }
  return deleted
}

/** A failure of storage is only logged, because it must not delay the deletion of users. */
async function filesUntil(context: DeletionContext, appId: number): Promise<Date | null> {
  try {
    return await newestFileAt(context, appId)
  } catch (error) {
    context.shutdown?.throwIfAborted()
    context.log.warn({ app_id: appId, err: error }, 'unannounced files not listed before a deletion')
    return null
  }
}

interface Deletion extends DueCompletion {
  /** The time of the newest unannounced file that precedes the deletion, if any. */
  filesUntil: Date | null
  now: Date
  /** Maximum number of users of a batch. */
  users: number
}

/**
 * The last user of a batch. The next batch begins after this user, so that it need not skip dead index entries again.
 */
interface Cursor {
  request_id: string
  user_id: string
}

const firstCursor: Cursor = { request_id: '00000000-0000-0000-0000-000000000000', user_id: '' }

interface Batch {
  /** Deleted users who were registered and, at the same index, the request that each user counts for. */
  gone: { user_ids: string[]; request_ids: string[] }
  /** Null if no users remain. */
  last: Cursor | null
}

/** Deletes the next users and their profiles. */
async function deleteBatch(tx: Database, deletion: Deletion, after: Cursor): Promise<Batch> {
  const { appId } = deletion
  await lockApp(tx, appId)
  await lockUsersForDeletion(tx, appId)
  await lookUpByIndex(tx)
  const batch = await deleteNextUsers(tx, deletion, after)
  await deleteProfiles(tx, appId, batch)
  return batch
}

/**
 * Deletes the next users, and replaces their IDs by hashes in every request that names them. A second hash prevents the
 * import of data that was sent before, even for IDs that are not registered yet.
 *
 * The caller's locks keep batches of imports out meanwhile, since such a batch could insert a profile of a deleted
 * user. A batch of users may span several requests: an app may send one request per user.
 */
async function deleteNextUsers(tx: Database, deletion: Deletion, after: Cursor): Promise<Batch> {
  const { appId, filesUntil, now, users } = deletion
  // In `doomed`, a user whom two due requests name counts for only one of the requests.
  const { rows } = await sql<Batch>`
    with named as materialized (${nextUsers(deletion, after)}
    ), doomed as materialized (
      select distinct on (user_id) ${appId}::integer as app_id, user_id, request_id from named order by user_id, request_id
    ), gone as (
      delete from users u using doomed n where u.app_id = n.app_id and u.user_id = n.user_id
      returning n.user_id, n.request_id
    ), processed as (
      delete from deletion_request_users d using doomed n where d.app_id = n.app_id and d.user_id = n.user_id
      returning d.request_id, d.user_id
    ), proof as (
      insert into deleted_users (app_id, request_id, user_hash, deleted_at)
      select r.app_id, r.request_id, sha256(r.salt || convert_to(p.user_id, 'UTF8')), ${now}::timestamptz
      from processed p join deletion_requests r on r.app_id = ${appId}::integer and r.request_id = p.request_id
    ), recent as (
      insert into recently_deleted_users (app_id, user_hash, deleted_at)
      select ${appId}::integer, ${recentlyDeletedHash(appId, sql`user_id`)},
        greatest(clock_timestamp(), ${filesUntil}::timestamptz) from doomed
      on conflict (app_id, user_hash) do update set deleted_at = excluded.deleted_at, data_order = excluded.data_order
    ), counts as (
      select request_id, count(*) as processed, 0 as deleted from doomed group by request_id
      union all
      select request_id, 0, count(*) from gone group by request_id
    ), counted as (
      update deletion_requests r
      set users_processed = r.users_processed + c.processed, users_deleted = r.users_deleted + c.deleted
      from (select request_id, sum(processed) as processed, sum(deleted) as deleted from counts group by request_id) c
      where r.app_id = ${appId}::integer and r.request_id = c.request_id
    )
    select (
      select json_build_object('user_ids', coalesce(json_agg(user_id), '[]'), 'request_ids', coalesce(json_agg(request_id), '[]'))
      from gone
    ) as gone, (
      select json_build_object('request_id', request_id, 'user_id', user_id) from named
      where (select count(*) from named) = ${users}::integer
      order by request_id desc, user_id desc limit 1
    ) as last
  `.execute(tx)
  return rows[0] ?? { gone: { user_ids: [], request_ids: [] }, last: null }
}

/** Selects the next users of the requests, in the order of requests and IDs. */
function nextUsers({ appId, completesAt, users }: Deletion, after: Cursor) {
  return sql`
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
  `
}

/**
 * Deletes the profiles of the deleted users. This is a separate statement so that it sees the writes of a profile
 * update that the users' deletion had to wait for.
 */
async function deleteProfiles(tx: Database, appId: number, { gone }: Batch): Promise<void> {
  if (gone.user_ids.length === 0) return
  await sql`
    with emptied as (
      delete from profiles p
      using (
        select ${appId}::integer as app_id, unnest(${encodeTextArray(gone.user_ids)}::text[]) as user_id,
          unnest(${gone.request_ids}::uuid[]) as request_id
        offset 0
      ) g
      where p.app_id = g.app_id and p.user_id = g.user_id
      returning g.request_id, cardinality(akeys(p.attributes)) as values
    )
    update deletion_requests r set values_deleted = r.values_deleted + e.values
    from (select request_id, sum(values) as values from emptied group by request_id) e
    where r.app_id = ${appId}::integer and r.request_id = e.request_id
  `.execute(tx)
}
