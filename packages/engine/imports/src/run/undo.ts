import {
  aggregatedDocument,
  changedRowsOf,
  changesFileColumns,
  columnProblem,
  countsByKey,
  ErrorCounts,
  KeptRows,
  type ProgressStatements,
} from '@sluice/batches'
import { fileMessages, valueMessages } from '@sluice/contract'
import { FileError, RowSplitter } from '@sluice/csv'
import { type Database, lookUpBySets, prepared, type RawBuilder, sql, writeTogether } from '@sluice/database'
import { deletedSince, keepUsers } from '@sluice/profiles'
import { ObjectGone } from '@sluice/storage'
import { type ReleaseReason, Slice } from '../order/slice.ts'
import { progressStatements } from './progress.ts'
import type { Run } from './run.ts'
import { checkLoaded, loadLines } from './undo-lines.ts'

/** Maximum number of users in a transaction. */
const usersAtATime = 2_000

/**
 * Number of lines at which a transaction takes no further user (design.md §4, Bounded memory). One user may have more.
 */
const linesAtATime = 10_000

/**
 * Undoes the lines of a changes file, user by user (changes.md §3, What it does). A position is a number of lines in
 * the order of users.
 *
 * Returns and throws as `applyRows`. Throws `FileError` if the changes file is gone, or a deletion removes it.
 */
export async function applyUndo(run: Run): Promise<ReleaseReason | undefined> {
  const began = performance.now()
  const { context, claim } = run
  try {
    await loadLines(run)
  } catch (error) {
    // changes.md §3, Allowed.
    throw error instanceof ObjectGone ? new FileError(fileMessages.changesFileGone) : error
  }
  run.progress = { ...run.progress, columns: [...changesFileColumns] }
  const statements = progressStatements(run)
  const slice = new Slice(context, claim, began)
  let precedingUser = await userBefore(run)
  for (;;) {
    context.shutdown?.throwIfAborted()
    const ended = await slice.endedBy()
    if (ended !== undefined) return ended
    const lastUser = await undoUsers(run, statements, precedingUser)
    if (lastUser === undefined) break
    precedingUser = lastUser
  }
  await checkLoaded(run)
  return undefined
}

/** Returns the last user whose lines are committed; an empty string if there is none. All lines must be loaded. */
async function userBefore({ context, claim, progress }: Run): Promise<string> {
  if (progress.position === 0) return ''
  const { rows } = await sql<{ user_id: string }>`
    select user_id from (
      select user_id, sum(cardinality(keys)) over (order by user_id, line) as position from undo_lines
      where app_id = ${claim.appId} and import_id = ${claim.importId}
    ) ends where position = ${progress.position}
  `.execute(context.db)
  if (rows[0] === undefined) throw new Error(`no user of the undo ends at line ${progress.position}`)
  return rows[0].user_id
}

/** Undoes the lines of the next users, in one transaction. Returns the last of them; undefined if there is none. */
async function undoUsers(run: Run, statements: ProgressStatements, after: string): Promise<string | undefined> {
  const { context, claim, progress } = run
  const start = progress.position
  const sentAt = performance.now()
  const begin = sql`select ${keepUsers(claim.appId)}, ${lookUpBySets()}`
  const undone = await writeTogether(context.db, [begin.compile(context.db)], async (tx) => {
    const found = await undoLines(tx, run, after)
    // A deletion has completed, but storage may not have removed the file yet.
    if (found?.follows_deletion) throw new FileError(fileMessages.changesFileGone)
    if (found === undefined) return { writes: [], result: undefined }
    const keys = Object.keys(progress.types)
    const names = [...changesFileColumns, ...keys]
    const keptRows = new KeptRows(changesFileColumns, names)
    const errorCounts = new ErrorCounts(names)
    for (const failed of found.failed ?? []) {
      const problem = failed.is_unregistered
        ? columnProblem(0, valueMessages.unregisteredUser)
        : columnProblem(changesFileColumns.length + keys.indexOf(failed.key), valueMessages.changedSince)
      errorCounts.add([problem])
      keptRows.add(failed.line, [problem], cellsOfLine(failed))
    }
    const end = start + found.lines
    const written = {
      ...{ start, end, rows: found.lines, rowsFailed: found.failed?.length ?? 0 },
      ...{ types: progress.types, warnings: [], spellingCounts: [], registered: [], hasNewTypes: false },
      ...{ keptRows, errorCounts, hasChanges: true },
      rowsChanged: sql<number>`${found.created + found.changed}::bigint`,
    }
    const { created, changed, keys: byKey, first_row: firstRow, content } = found
    const changes = sql`select ${JSON.stringify({ created, changed, keys: byKey })}::jsonb as counts,
      ${firstRow}::bigint as first_row, ${content}::bytea as content`
    const writes = [statements.recordChanges(written, changes), ...statements.record(written)]
    return { writes, result: { lastUser: found.last_user, written } }
  })
  if (undone === undefined) return undefined
  statements.onCommit(undone.written, performance.now() - sentAt)
  return undone.lastUser
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
async function undoLines(tx: Database, { claim }: Run, after: string): Promise<Undone | undefined> {
  const ofUndo = sql`app_id = ${claim.appId}::integer and import_id = ${claim.importId}::uuid`
  const { rows } = await prepared<Undone>`
    with chosen as materialized (
      select array_agg(user_id) as ids, max(user_id) as last_user from (
        select user_id, sum(lines) over (order by user_id) - lines as preceding_lines from (
          select user_id, sum(cardinality(keys)) as lines from undo_lines where ${ofUndo} and user_id > ${after}
          group by user_id order by user_id limit ${usersAtATime}::integer
        ) of_user
      ) users where preceding_lines < ${linesAtATime}
    ), lines as materialized (
      ${linesOf(ofUndo)} and user_id = any((select ids from chosen)::text[])
    ), values as (
      select user_id, key, type, line, befores[1] as first_before, befores[count] as last_before, afters[count] as last_after
      from (
        select user_id, key, min(type) as type, max(line) as line, count(*)::integer as count,
          array_agg(before order by line) as befores, array_agg(after order by line) as afters
        from lines group by user_id, key
      ) grouped
    ), stored as materialized (
      select user_id, attributes || ''::hstore as attributes from profiles
      where app_id = ${claim.appId}::integer and user_id = any((select ids from chosen)::text[])
      ${claim.dryRun ? sql`` : sql`for no key update`}
    ), registered as materialized (
      select user_id from users where app_id = ${claim.appId}::integer and user_id = any((select ids from chosen)::text[])
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
    )${claim.dryRun ? sql`` : written(claim.appId)}
    select ${deletedSince(claim.appId, claim.dataOrder)} as follows_deletion, (select last_user from chosen) as last_user, (select count(*) from lines) as lines,
      (select count(*) from documents where is_created) as created,
      (select count(*) from documents where not is_created) as changed,
      (select min(line) from documents) as first_row,
      (${failedLines}) as failed, (${countsByKey(sql`restored`)}) as keys,
      (select ${changedRowsOf(sql`line`)} from documents) as content
  `.execute(tx)
  const [found] = rows
  return found === undefined || found.lines === 0 ? undefined : found
}
