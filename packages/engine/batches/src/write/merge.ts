import {
  type CompiledQuery,
  copyInto,
  type Database,
  encodeTextArray,
  prepared,
  type RawBuilder,
  sql,
} from '@sluice/database'
import { mergeIntoExisting } from '@sluice/profiles'
import { changesFound, pairsOfGiven } from '../changes/find-changes.ts'
import type { HashTaking } from '../context.ts'
import { copyColumns } from '../documents/copy-rows.ts'
import type { ProfileBatch } from '../documents/profile-batch.ts'
import type { UserStates } from '../documents/user-states.ts'

/** Stands for a missing hash in an array. It is never stored, so it never makes a profile look up to date. */
const noHash = '00000000-0000-0000-0000-000000000000'

/** The new values of a batch, and what is known of its users. */
interface Merge {
  appId: number
  batch: ProfileBatch
  /** The result of `lookUpUsers` in the transaction that the statements end. */
  states: UserStates
  /** Another transaction may have inserted a user's first profile since. It is then updated. */
  toleratesConflicts: boolean
  /** The rows that change something were found and counted before. A first profile may not have come since. */
  areChangesFound: boolean
  hashTaking: HashTaking | undefined
}

/**
 * Returns the statements that merge the new values into the profiles of registered users, for `writeTogether`
 * (design.md §4, Order; second-day.md §3, Rows changed). One statement inserts first profiles, and one updates existing
 * profiles. Both set and remove keys. A profile that already holds all of its new values is not written, except that it
 * may take the row's hash ({@link HashTaking}).
 *
 * If another transaction has inserted a user's first profile since the lookup, the statements fail with a conflict that
 * `retryConflicts` repeats. With `toleratesConflicts`, the insert takes longer instead.
 */
export function mergeProfiles(tx: Database, merge: Merge): CompiledQuery[] {
  const { batch, states } = merge
  const [toInsert, toUpdate] = [states.toInsert(batch), states.toUpdate(batch)]
  const all = [...toInsert, ...toUpdate]
  const repeated = all.filter((user) => batch.isRepeated(user))
  const areCounted = repeated.length === 0 || merge.areChangesFound
  const statements = areCounted ? [] : [countChangesOfRepeated(tx, merge, repeated)]
  if (toInsert.length > 0)
    statements.push(batch.hasRemovals ? insertStripped(tx, merge, toInsert) : insertProfiles(tx, merge, toInsert))
  // If documents remove keys, the insert passes over profiles that another transaction has inserted meanwhile. The
  // update of all users then merges into them as well.
  const mayMeet = batch.hasRemovals && !merge.areChangesFound
  const updated = mayMeet ? all.sort((one, other) => one - other) : toUpdate
  if (updated.length > 0) statements.push(updateProfiles(tx, merge, updated))
  return statements
}

/** Returns the statement that inserts first profiles: a `copy`, which cannot tolerate conflicts, or an insert. */
function insertProfiles(tx: Database, merge: Merge, users: readonly number[]): CompiledQuery {
  const { appId, batch, toleratesConflicts } = merge
  if (!toleratesConflicts) return copyInto('profiles', copyColumns, batch.copyRows(appId, users))
  return prepared`
    with written as (
      insert into profiles as p (app_id, user_id, attributes, row_hash, updated_at)
      select ${appId}::integer, g.user_id, g.document, nullif(g.row_hash, ${noHash}::uuid), now()
      from unnest(${batch.idArray(users)}::text[], ${batch.documentArray(users)}::hstore[], ${batch.hashArray(users)}::uuid[])
        as g (user_id, document, row_hash)
      ${mergeIntoExisting}
      returning p.row_hash
    )
    select ${countWritten(merge)}
  `.compile(tx)
}

/**
 * Returns the statement that inserts first profiles for documents that remove keys. A profile that would be empty is
 * not inserted.
 */
function insertStripped(tx: Database, merge: Merge, users: readonly number[]): CompiledQuery {
  const { appId, batch, areChangesFound } = merge
  return prepared`
    with written as (
      insert into profiles (app_id, user_id, attributes, row_hash, updated_at)
      select ${appId}::integer, g.user_id, g.attributes, nullif(g.row_hash, ${noHash}::uuid), now()
      from (
        select user_id, ${withoutRemoved(sql`document`, batch)} as attributes, row_hash
        from unnest(${batch.idArray(users)}::text[], ${batch.documentArray(users)}::hstore[], ${batch.hashArray(users)}::uuid[])
          as given (user_id, document, row_hash)
        offset 0
      ) g
      where g.attributes <> ''::hstore
      ${areChangesFound ? sql`` : sql`on conflict (app_id, user_id) do nothing`}
      returning row_hash
    )
    select ${countWritten(merge)}
  `.compile(tx)
}

/**
 * Returns the statement that updates existing profiles. If documents remove keys, the result is without them.
 */
function updateProfiles(tx: Database, merge: Merge, users: readonly number[]): CompiledQuery {
  const { appId, batch, hashTaking } = merge
  const merged = withoutRemoved(sql`p.attributes || g.document`, batch)
  const isChanged = batch.hasRemovals ? sql`p.attributes <> ${merged}` : sql`not p.attributes @> g.document`
  const takesHash = hashTaking && takesHashOf(hashTaking)
  // `offset 0` keeps the planner from inlining the subquery, so each document is read once.
  return prepared`
    with given as materialized (select ${batch.idArray(users)}::text[] as user_ids),
    written as (
      update profiles p
      set attributes = ${merged}, row_hash = nullif(g.row_hash, ${noHash}::uuid),
        updated_at = ${takesHash ? sql`case when ${isChanged} then now() else p.updated_at end` : sql`now()`}
      from (
        select unnest((select user_ids from given)) as user_id, unnest(${batch.documentArray(users)}::hstore[]) as document,
          unnest(${batch.hashArray(users)}::uuid[]) as row_hash
        offset 0
      ) g
      where p.app_id = ${appId}::integer and p.user_id = any((select user_ids from given)::text[]) and p.user_id = g.user_id
        and ${takesHash ? sql`(${isChanged} or ${takesHash})` : isChanged}
      returning case when p.updated_at = now() then p.row_hash end as row_hash
    )
    select ${countWritten(merge)}
  `.compile(tx)
}

/** Returns the condition that the profile `p`, which holds the values of the row `g`, takes its hash. */
function takesHashOf({ replaces, unlessWrittenSince }: HashTaking): RawBuilder<unknown> {
  const mayTake = replaces ? sql`p.row_hash is distinct from g.row_hash` : sql`p.row_hash is null`
  return sql`g.row_hash <> ${noHash}::uuid and ${mayTake} and p.updated_at < ${unlessWrittenSince}::timestamptz`
}

/**
 * Returns an expression for a document without the keys that a row has removed. `-` takes away equal pairs: those
 * without a value, as no stored key is.
 */
function withoutRemoved(document: RawBuilder<unknown>, batch: ProfileBatch): RawBuilder<unknown> {
  if (!batch.hasRemovals) return document
  return sql`((${document}) - hstore(${encodeTextArray(batch.removedKeys)}::text[], null::text[]))`
}

/** The number of rows that have changed something so far in this transaction, except rows that were copied. */
const changedSoFar = sql`coalesce(nullif(current_setting('sluice.rows_changed', true), ''), '0')::bigint`

/** Returns an expression that adds to that number, which is a setting: all statements of a batch are sent at once. */
function addChanged(added: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`set_config('sluice.rows_changed', (${changedSoFar} + ${added})::text, true)`
}

/** Counts the rows of `written`. Users with several rows have no hash, and are counted by a statement of their own. */
function countWritten({ areChangesFound }: Merge): RawBuilder<unknown> {
  return areChangesFound ? sql`` : addChanged(sql`(select count(row_hash) from written)`)
}

/**
 * Returns the statement that counts the rows of users with several rows, before these rows are merged. A row counts if
 * it changes the profile as the preceding rows of its user leave it. So the count does not depend on where batches end.
 *
 * Locks the profiles, so that they do not change before the rows are merged.
 */
function countChangesOfRepeated(tx: Database, { appId, batch }: Merge, users: readonly number[]): CompiledQuery {
  const { ids, documents, numbers } = batch.rowArrays(users)
  return prepared`
    with given as materialized (
      select unnest(${ids}::text[]) as user_id, unnest(${documents}::hstore[]) as document,
        unnest(${numbers}::integer[]) as row
    ), stored as materialized (
      select user_id, attributes || ''::hstore as attributes from profiles
      where app_id = ${appId}::integer and user_id = any(${batch.idArray(users)}::text[])
      for no key update
    ), cells as (
      select g.user_id, g.row, c.key, c.value, s.attributes -> c.key as stored
      from given g cross join lateral ${pairsOfGiven} left join stored s on s.user_id = g.user_id
    ), steps as (
      select row, value, lag(value, 1, stored) over (partition by user_id, key order by row) as before
      from cells
    )
    select ${addChanged(sql`(select count(distinct row) from steps where before is distinct from value)`)}
  `.compile(tx)
}

/**
 * Returns an expression for the number of rows that the statements of {@link mergeProfiles} have changed something
 * with, for a later statement of the same transaction.
 */
export function rowsChanged({ batch, states, toleratesConflicts, areChangesFound }: Merge): RawBuilder<number> {
  if (areChangesFound)
    return sql<number>`coalesce((${changesFound} ->> 'created')::bigint + (${changesFound} ->> 'changed')::bigint, 0)`
  const isCopied = !toleratesConflicts && !batch.hasRemovals
  const copied = isCopied ? states.toInsert(batch).filter((user) => !batch.isRepeated(user)).length : 0
  return sql<number>`${copied}::bigint + ${changedSoFar}`
}
