import { type CompiledQuery, copyInto, type Database, type RawBuilder, sql } from '@sluice/database'
import { mergeIntoExisting } from '../existing-profile.ts'
import { copyColumns } from './copy-rows.ts'
import type { ProfileBatch } from './profile-batch.ts'
import type { UserStates } from './user-states.ts'

/** Stands for a missing hash in an array. It is never stored, so it never makes a profile look up to date. */
const noHash = '00000000-0000-0000-0000-000000000000'

/**
 * Returns the statements that merge the new values into the profiles of registered users, for `writeTogether`
 * (design.md §4, Order; second-day.md §3). One statement inserts first profiles, and one updates existing profiles.
 * Both set and remove keys. A profile that already holds all of its new values is not written.
 *
 * Accepts the result of `lookUpUsers` in the transaction that these statements end. Another transaction may have
 * inserted a user's first profile since. The statements then fail with a conflict that `retryConflicts` repeats. With
 * `toleratesConflicts` they update that profile instead, at the price of an insert that takes 67 % longer.
 */
export function mergeProfiles(
  tx: Database,
  appId: number,
  batch: ProfileBatch,
  states: UserStates,
  toleratesConflicts: boolean,
): CompiledQuery[] {
  const [toInsert, toUpdate] = [states.toInsert(batch), states.toUpdate(batch)]
  const repeated = [...toInsert, ...toUpdate].filter((user) => batch.isRepeated(user))
  const statements = repeated.length > 0 ? [countChangesOfRepeated(tx, appId, batch, repeated)] : []
  if (batch.hasRemovals) return [...statements, ...mergeWithRemovals(tx, appId, batch, toInsert, toUpdate)]
  if (toInsert.length > 0) statements.push(insertProfiles(tx, appId, batch, toInsert, toleratesConflicts))
  if (toUpdate.length > 0) statements.push(updateProfiles(tx, appId, batch, toUpdate))
  return statements
}

/**
 * Returns the statement that inserts first profiles.
 *
 * Measured alternatives, in seconds for a million profiles on one connection:
 *
 * - binary `copy`, as below: 4.2
 * - `unnest` in `from`: 5.0; in the select list: 5.5
 * - `on conflict`, as below if conflicts are tolerated: 7.0 to 7.3
 * - documents as `jsonb[]`: 7.2
 */
function insertProfiles(
  tx: Database,
  appId: number,
  batch: ProfileBatch,
  users: readonly number[],
  toleratesConflicts: boolean,
): CompiledQuery {
  if (!toleratesConflicts) return copyInto('profiles', copyColumns, batch.copyRows(appId, users))
  return sql`
    /* prepared */
    with written as (
      insert into profiles as p (app_id, user_id, attributes, row_hash, updated_at)
      select ${appId}::integer, g.user_id, g.document::jsonb, nullif(g.row_hash, ${noHash}::uuid), now()
      from unnest(${batch.idArray(users)}::text[], ${batch.documentArray(users)}::text[], ${batch.hashArray(users)}::uuid[])
        as g (user_id, document, row_hash)
      ${mergeIntoExisting}
      returning p.row_hash
    )
    select ${countWritten}
  `.compile(tx)
}

function updateProfiles(tx: Database, appId: number, batch: ProfileBatch, users: readonly number[]): CompiledQuery {
  // `offset 0` keeps the planner from inlining the subquery, so each document is parsed once.
  return sql`
    /* prepared */
    with given as materialized (select ${batch.idArray(users)}::text[] as user_ids),
    written as (
      update profiles p
      set attributes = p.attributes || g.document, row_hash = nullif(g.row_hash, ${noHash}::uuid), updated_at = now()
      from (
        select unnest((select user_ids from given)) as user_id, unnest(${batch.documentArray(users)}::text[])::jsonb as document,
          unnest(${batch.hashArray(users)}::uuid[]) as row_hash
        offset 0
      ) g
      where p.app_id = ${appId}::integer and p.user_id = any((select user_ids from given)::text[]) and p.user_id = g.user_id
        and not p.attributes @> g.document
      returning p.row_hash
    )
    select ${countWritten}
  `.compile(tx)
}

/**
 * Returns the statements of a batch that removes keys. A document holds null for each removed key, and no stored value
 * is null. So stripping the nulls from the merged document removes exactly these keys, and sets the others.
 *
 * The insert passes over profiles that another transaction has inserted meanwhile. The update of all users then merges
 * into them as well. A profile that would become empty is not inserted.
 */
function mergeWithRemovals(
  tx: Database,
  appId: number,
  batch: ProfileBatch,
  toInsert: readonly number[],
  toUpdate: readonly number[],
): CompiledQuery[] {
  const insert = sql`
    /* prepared */
    with written as (
      insert into profiles (app_id, user_id, attributes, row_hash, updated_at)
      select ${appId}::integer, g.user_id, g.attributes, nullif(g.row_hash, ${noHash}::uuid), now()
      from (
        select user_id, jsonb_strip_nulls(document::jsonb) as attributes, row_hash
        from unnest(${batch.idArray(toInsert)}::text[], ${batch.documentArray(toInsert)}::text[], ${batch.hashArray(toInsert)}::uuid[])
          as given (user_id, document, row_hash)
        offset 0
      ) g
      where g.attributes <> '{}'
      on conflict (app_id, user_id) do nothing
      returning row_hash
    )
    select ${countWritten}
  `
  const users = [...toInsert, ...toUpdate].sort((one, other) => one - other)
  if (users.length === 0) return []
  const update = sql`
    /* prepared */
    with given as materialized (select ${batch.idArray(users)}::text[] as user_ids),
    written as (
      update profiles p
      set attributes = jsonb_strip_nulls(p.attributes || g.document), row_hash = nullif(g.row_hash, ${noHash}::uuid),
        updated_at = now()
      from (
        select unnest((select user_ids from given)) as user_id, unnest(${batch.documentArray(users)}::text[])::jsonb as document,
          unnest(${batch.hashArray(users)}::uuid[]) as row_hash
        offset 0
      ) g
      where p.app_id = ${appId}::integer and p.user_id = any((select user_ids from given)::text[]) and p.user_id = g.user_id
        and p.attributes <> jsonb_strip_nulls(p.attributes || g.document)
      returning p.row_hash
    )
    select ${countWritten}
  `
  return toInsert.length === 0 ? [update.compile(tx)] : [insert.compile(tx), update.compile(tx)]
}

/** The number of rows that have changed something so far in this transaction, except rows that were copied. */
const changedSoFar = sql`coalesce(nullif(current_setting('sluice.rows_changed', true), ''), '0')::bigint`

/** Returns an expression that adds to that number, which is a setting: all statements of a batch are sent at once. */
function addChanged(added: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`set_config('sluice.rows_changed', (${changedSoFar} + ${added})::text, true)`
}

/** Counts the rows of `written`. Users with several rows have no hash, and are counted by a statement of their own. */
const countWritten = addChanged(sql`(select count(row_hash) from written)`)

/**
 * Returns the statement that counts the rows of users with several rows, before these rows are merged. A row counts if
 * it changes the profile as the preceding rows of its user leave it. So the count does not depend on where batches end.
 *
 * Locks the profiles, so that they do not change before the rows are merged.
 */
function countChangesOfRepeated(
  tx: Database,
  appId: number,
  batch: ProfileBatch,
  users: readonly number[],
): CompiledQuery {
  const { ids, documents, count } = batch.rowArrays(users)
  return sql`
    /* prepared */
    with given as materialized (
      select unnest(${ids}::text[]) as user_id, unnest(${documents}::text[])::jsonb as document,
        generate_series(1, ${count}::integer) as row
    ), stored as materialized (
      select user_id, attributes || '{}' as attributes from profiles
      where app_id = ${appId}::integer and user_id = any(${batch.idArray(users)}::text[])
      for no key update
    ), cells as (
      select g.user_id, g.row, c.key, c.value, s.attributes -> c.key as stored
      from given g cross join lateral jsonb_each(g.document) c left join stored s on s.user_id = g.user_id
    ), steps as (
      select row, value, coalesce(lag(value) over (partition by user_id, key order by row), stored, 'null') as before
      from cells
    )
    select ${addChanged(sql`(select count(distinct row) from steps where before <> value)`)}
  `.compile(tx)
}

/**
 * Returns an expression for the number of rows that the statements of {@link mergeProfiles} have changed something
 * with, for a later statement of the same transaction.
 */
export function rowsChanged(batch: ProfileBatch, states: UserStates, toleratesConflicts: boolean): RawBuilder<number> {
  const isCopied = !toleratesConflicts && !batch.hasRemovals
  const copied = isCopied ? states.toInsert(batch).filter((user) => !batch.isRepeated(user)).length : 0
  return sql<number>`${copied}::bigint + ${changedSoFar}`
}
