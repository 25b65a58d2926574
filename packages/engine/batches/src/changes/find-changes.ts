import { type RawBuilder, sql } from '@sluice/database'
import { Pairs } from '../documents/pairs.ts'
import type { ProfileBatch } from '../documents/profile-batch.ts'
import type { UserStates } from '../documents/user-states.ts'
import { changedRowsOf, FirstRowsWriter } from './changed-rows.ts'
import { PairKeys } from './pair-keys.ts'

/** A checked batch whose changes are looked for. */
interface CheckedRows {
  appId: number
  batch: ProfileBatch
  /** The result of `lookUpUsers` in the same transaction. */
  states: UserStates
  /** Rows of the file that precede the batch. */
  precedingRows: number
  /** Nothing is merged afterwards. Otherwise the profiles are locked, so that they do not change before the merge. */
  dryRun: boolean
  /** Whether the changed rows are wanted, besides their counts. */
  keepsRows: boolean
}

/**
 * Returns a `select` of what the rows of a batch change in the profiles of registered users, before they are merged
 * (changes.md §1, Counts): one row with `counts` (jsonb), `first_row` (the number of the first row that changes
 * something) and `content` (`changed-rows.ts`; null if no row changes something, or if the rows are not wanted). Each
 * row is compared with what the preceding rows leave. Returns undefined if no row has values to compare.
 */
export async function findChanges(rows: CheckedRows): Promise<RawBuilder<unknown> | undefined> {
  const { batch, states } = rows
  const [inserted, updated] = [states.toInsert(batch), states.toUpdate(batch)]
  if (inserted.length + updated.length === 0) return undefined
  const areFirst = updated.length === 0 && !batch.hasRemovals && !inserted.some((user) => batch.isRepeated(user))
  return areFirst ? await changesOfFirstRows(rows, inserted) : changesOfRows(rows, [...inserted, ...updated])
}

/** All values of users without a profile are added, so nothing is to be looked up. */
async function changesOfFirstRows(
  { batch, precedingRows, keepsRows }: CheckedRows,
  users: readonly number[],
): Promise<RawBuilder<unknown>> {
  const writer = new FirstRowsWriter(users.length)
  const added: { key: string; count: number }[] = []
  const counted = new PairKeys((key) => {
    const count = { key, count: 0 }
    added.push(count)
    return count
  })
  let first: number | null = null
  for (const row of batch.rowsOf(users)) {
    const number = precedingRows + row.row + 1
    first ??= number
    const pairs = new Pairs(row.documents, row.documentStart)
    while (pairs.next()) counted.find(row.documents, pairs).count++
    if (keepsRows) writer.add(number, row)
  }
  const keys = added.map(({ key, count }) => [key, { added: count }])
  const counts = { created: users.length, changed: 0, changing: 0, removing: 0, keys: Object.fromEntries(keys) }
  const content = keepsRows ? await writer.content() : null
  return sql`select ${JSON.stringify(counts)}::jsonb as counts, ${first}::bigint as first_row, ${content}::bytea as content`
}

/**
 * The pairs of the document of `g`, as `c` in a `from` clause. Of `each`, the planner expects 1,000 pairs, so it would
 * group the values of a batch in 256 files on disk.
 */
export const pairsOfGiven = sql`unnest(akeys(g.document), avals(g.document)) c (key, value)`

/**
 * Compares rows with the stored profiles, which it locks unless nothing is merged afterwards. Only if users have
 * several rows must the rows be compared with each other, which needs a sort of all values.
 */
function changesOfRows(
  { appId, batch, precedingRows, dryRun, keepsRows }: CheckedRows,
  users: readonly number[],
): RawBuilder<unknown> {
  const { ids, documents, numbers } = batch.rowArrays(users)
  const areRepeated = users.some((user) => batch.isRepeated(user))
  const stored = sql`s.attributes -> c.key`
  const before = areRepeated
    ? sql`lag(c.value, 1, ${stored}) over (partition by g.user_id, c.key order by g.row)`
    : stored
  const storedValues = areRepeated ? sql`cardinality(akeys(attributes))` : sql`1`
  return sql`
    with given as materialized (
      select unnest(${ids}::text[]) as user_id, unnest(${documents}::hstore[]) as document,
        ${precedingRows}::bigint + 1 + unnest(${numbers}::integer[]) as row
    ), stored as materialized (
      select user_id, attributes || ''::hstore as attributes from profiles
      where app_id = ${appId}::integer and user_id = any(${batch.idArray(users)}::text[])
      ${dryRun ? sql`` : sql`for no key update`}
    ), cells as (
      select g.user_id, g.row, c.key, c.value as after, ${before} as before
      from given g cross join lateral ${pairsOfGiven} left join stored s on s.user_id = g.user_id
    ), changes as materialized (
      select user_id, row, key, after, before, before is null as is_added, after is null as is_removed
      from cells where before is distinct from after
    ), changed_rows as (
      select user_id, row, count(*) filter (where is_added) - count(*) filter (where is_removed) as more_values,
        ${aggregatedDocument('before')} as before, ${aggregatedDocument('after')} as after, bool_or(is_removed) as is_removing
      from changes group by user_id, row
    ), placed as (
      select r.*, coalesce(s.stored_values, 0) + coalesce(sum(r.more_values) over (
          partition by r.user_id order by r.row rows between unbounded preceding and 1 preceding
        ), 0) = 0 as is_created
      from changed_rows r left join (
        select user_id, ${storedValues} as stored_values from stored where attributes <> ''::hstore
      ) s on s.user_id = r.user_id
    )
    select jsonb_build_object(
        'created', count(*) filter (where p.is_created), 'changed', count(*) filter (where not p.is_created),
        'changing', count(p.before), 'removing', count(*) filter (where p.is_removing), 'keys', (${countsByKey(sql`changes`)})
      ) as counts, min(p.row) as first_row,
      ${keepsRows ? changedRowsOf(sql`p.row`) : sql`null::bytea`} as content
    from placed p`
}

/**
 * Returns a `select` of the numbers of values that were added, changed and removed, by key, as one JSON object. Accepts
 * a query with `key`, `is_added` and `is_removed` of each changed value.
 */
export function countsByKey(changes: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select coalesce(jsonb_object_agg(key, jsonb_strip_nulls(jsonb_build_object(
      'added', nullif(added, 0), 'changed', nullif(changed, 0), 'removed', nullif(removed, 0)))), '{}')
    from (
      select key, count(*) filter (where is_added) as added, count(*) filter (where is_removed) as removed,
        count(*) filter (where not is_added and not is_removed) as changed
      from ${changes} group by key
    ) by_key`
}

/** The counts that a statement with {@link findChanges} has noted in its transaction; null if there is none. */
export const changesFound = sql`nullif(current_setting('sluice.changes', true), '')::jsonb`

/** Returns an expression for the document of values in this column of a group, by `key`; null if it has none. */
export function aggregatedDocument(column: string): RawBuilder<unknown> {
  const hasValue = sql`filter (where ${sql.ref(column)} is not null)`
  return sql`hstore(array_agg(key) ${hasValue}, array_agg(${sql.ref(column)}) ${hasValue})`
}
