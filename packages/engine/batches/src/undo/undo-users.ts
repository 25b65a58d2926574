import { type ValueType, valueMessages } from '@sluice/contract'
import { RowSplitter } from '@sluice/csv'
import { type Database, prepared, type RawBuilder, sql } from '@sluice/database'
import { deletedSince } from '@sluice/profiles'
import { changesFileColumns } from '../changes/change-lines.ts'
import { changedRowsOf } from '../changes/changed-rows.ts'
import { aggregatedDocument, countsByKey } from '../changes/find-changes.ts'
import type { WrittenBatch } from '../context.ts'
import { ErrorCounts } from '../errors/error-counts.ts'
import { KeptRows } from '../errors/kept-rows.ts'
import { columnProblem } from '../errors/problems.ts'

/** Maximum number of users in a transaction. */
const usersAtATime = 2_000

/**
 * Number of lines at which a transaction takes no further user (design.md §4, Bounded memory). One user may have more.
 */
const linesAtATime = 10_000

/** Lines of a changes file that are undone. */
interface Undo {
  appId: number
  /** Deletions with a higher number completed after the data of the undone import was sent. */
  dataOrder: number
  /** The values are compared, and nothing is written. */
  dryRun: boolean
  /** Condition on `undo_lines`. */
  which: RawBuilder<unknown>
  /** The types of the changed keys. */
  types: Readonly<Record<string, ValueType>>
}

/** A batch of users whose lines are undone in the open transaction. */
interface UndoneUsers {
  /** Users of the app were deleted since the data was sent. */
  followsDeletion: boolean
  lastUser: string
  batch: WrittenBatch
  /** For `recordChanges`. */
  changes: RawBuilder<unknown>
}

/**
 * Undoes the lines of the next users in the order of their IDs (changes.md §3, What it does). `preceding` are the last
 * user and the number of lines that are undone already. Returns undefined if there are no further lines.
 */
export async function undoUsers(
  tx: Database,
  undo: Undo,
  preceding: { user: string; lines: number },
): Promise<UndoneUsers | undefined> {
  const found = await undoLines(tx, undo, preceding.user)
  if (found === undefined) return undefined
  const { created, changed, keys, first_row: firstRow, content } = found
  return {
    followsDeletion: found.follows_deletion,
    lastUser: found.last_user,
    batch: {
      start: preceding.lines,
      end: preceding.lines + found.lines,
      rows: found.lines,
      types: undo.types,
      hasNewTypes: false,
      warnings: [],
      spellingCounts: [],
      registered: [],
      hasChanges: true,
      ...keepFailedLines(found.failed ?? [], Object.keys(undo.types)),
      rowsChanged: sql<number>`${created + changed}::bigint`,
    },
    changes: sql`select ${JSON.stringify({ created, changed, keys })}::jsonb as counts,
      ${firstRow}::bigint as first_row, ${content}::bytea as content`,
  }
}

function keepFailedLines(
  failed: readonly FailedLine[],
  keys: readonly string[],
): Pick<WrittenBatch, 'keptRows' | 'errorCounts' | 'rowsFailed'> {
  const names = [...changesFileColumns, ...keys]
  const keptRows = new KeptRows(changesFileColumns, names)
  const errorCounts = new ErrorCounts(names)
  for (const line of failed) {
    const problem = line.is_unregistered
      ? columnProblem(0, valueMessages.unregisteredUser)
      : columnProblem(changesFileColumns.length + keys.indexOf(line.key), valueMessages.changedSince)
    errorCounts.add([problem])
    keptRows.add(line.line, [problem], cellsOfLine(line))
  }
  return { keptRows, errorCounts, rowsFailed: failed.length }
}

/** A value that stays as it is, and why. */
interface FailedLine {
  line: number
  user_id: string
  key: string
  type: string
  before: string | null
  after: string | null
  is_unregistered: boolean
}

/** What undoing the lines of some users found. */
interface Undone {
  /** Users of the app were deleted since the data of the undone import was sent. */
  follows_deletion: boolean
  last_user: string
  lines: number
  failed: FailedLine[] | null
  created: number
  changed: number
  keys: Record<string, Record<string, number>>
  first_row: number | null
  content: Buffer | null
}

/** Splits a line of a changes file, with a quoted empty string, into cells. */
function cellsOfLine({ user_id: userId, key, type, before, after }: FailedLine) {
  const quoted = (value: string | null) => (value === null ? '' : `"${value.replaceAll('"', '""')}"`)
  const bytes = Buffer.from(`${[userId, key, type, before, after].map(quoted).join(',')}\n`)
  return new RowSplitter().split(
    { bytes, start: 0, rowEnd: Float64Array.of(bytes.length), columns: changesFileColumns.length },
    0,
  )
}

/** Returns the SQL expression of the stored text of a value of a changes file. */
const stored = (text: string) =>
  sql.raw(`case type when 'string' then ${text} when 'datetime' then rtrim(replace(${text}, 'T', ' '), 'Z')
    else trim_scale(${text}::numeric)::text end`)

/** Selects single lines of rows of `undo_lines`. */
const linesOf = (rows: RawBuilder<unknown>) => sql`
  select user_id, line + number - 1 as line, key, type, before, after
  from undo_lines cross join unnest(keys, types, befores, afters)
    with ordinality as of_user (key, type, before, after, number)
  where ${rows}`

/** Selects the values that stay, from `judged`. */
const failedLines = sql`
  select json_agg(json_build_object('line', line, 'user_id', user_id, 'key', key, 'type', type,
    'before', last_before, 'after', last_after, 'is_unregistered', is_unregistered) order by line)
  from judged where is_unregistered or (value is distinct from last_value and value is distinct from first_value)`

/** Writes the values that `documents` restores, and forgets the row hashes of the users of `stored`. */
const written = (appId: number) => sql`, written as (
    update profiles p set attributes = coalesce(p.attributes - d.keys, p.attributes) || coalesce(d.after, ''), row_hash = null,
      updated_at = now()
    from (select user_id from stored) s left join documents d using (user_id)
    where p.app_id = ${appId}::integer and p.user_id = any((select ids from chosen)::text[])
      and p.user_id = s.user_id and (d.user_id is not null or p.row_hash is not null)
  )`

/**
 * Undoes the lines of the next users. A value that is what the import left becomes what it was before; one that already
 * is what it was before stays. Of several lines of a value, the first and the last one count.
 */
async function undoLines(tx: Database, undo: Undo, after: string): Promise<Undone | undefined> {
  const { appId, dataOrder, dryRun, which } = undo
  const { rows } = await prepared<Undone>`
    with chosen as materialized (
      select array_agg(user_id) as ids, max(user_id) as last_user from (
        select user_id, sum(lines) over (order by user_id) - lines as preceding_lines from (
          select user_id, sum(cardinality(keys)) as lines from undo_lines where ${which} and user_id > ${after}
          group by user_id order by user_id limit ${usersAtATime}::integer
        ) of_user
      ) users where preceding_lines < ${linesAtATime}
    ), lines as materialized (
      ${linesOf(which)} and user_id = any((select ids from chosen)::text[])
    ), values as (
      select user_id, key, type, line, befores[1] as first_before, befores[count] as last_before, afters[count] as last_after
      from (
        select user_id, key, min(type) as type, max(line) as line, count(*)::integer as count,
          array_agg(before order by line) as befores, array_agg(after order by line) as afters
        from lines group by user_id, key
      ) grouped
    ), stored as materialized (
      select user_id, attributes || ''::hstore as attributes from profiles
      where app_id = ${appId}::integer and user_id = any((select ids from chosen)::text[])
      ${dryRun ? sql`` : sql`for no key update`}
    ), registered as materialized (
      select user_id from users where app_id = ${appId}::integer and user_id = any((select ids from chosen)::text[])
    ), judged as materialized (
      select v.user_id, key, type, line, last_before, last_after, u.user_id is null as is_unregistered,
        attributes = ''::hstore as is_empty, ${stored('first_before')} as first_value, ${stored('last_after')} as last_value,
        attributes -> key as value
      from values v left join stored s on s.user_id = v.user_id left join registered u on u.user_id = v.user_id
    ), restored as not materialized (
      select user_id, key, line, is_empty, value, first_value, value is null as is_added, first_value is null as is_removed
      from judged
      where not is_unregistered and value is not distinct from last_value and value is distinct from first_value
    ), documents as (
      select user_id, max(line) as line, bool_and(is_empty) as is_created, array_agg(key) as keys,
        ${aggregatedDocument('value')} as before, ${aggregatedDocument('first_value')} as after
      from restored group by user_id
    )${dryRun ? sql`` : written(appId)}
    select ${deletedSince(appId, dataOrder)} as follows_deletion, (select last_user from chosen) as last_user, (select count(*) from lines) as lines,
      (select count(*) from documents where is_created) as created,
      (select count(*) from documents where not is_created) as changed,
      (select min(line) from documents) as first_row,
      (${failedLines}) as failed, (${countsByKey(sql`restored`)}) as keys,
      (select ${changedRowsOf(sql`line`)} from documents) as content
  `.execute(tx)
  const [found] = rows
  return found === undefined || found.lines === 0 ? undefined : found
}
