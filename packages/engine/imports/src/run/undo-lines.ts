import { changesFileColumns } from '@sluice/batches'
import { RowSplitter, readRows } from '@sluice/csv'
import { type Database, encodeTextArray, prepared, sql } from '@sluice/database'
import { ImportFile } from '../file/source.ts'
import { ClaimLost } from '../order/claim.ts'
import type { Run } from './run.ts'

const quote = 0x22

/** Maximum number of lines in one `insert`. A block of a file may add more. */
const linesAtATime = 5_000

/** Lines of a changes file by column; null for no value. */
type Lines = (string | null)[][]

/**
 * Loads the lines of the changes file that a run undoes, unless they are loaded already: a preceding worker may have
 * done it. Throws {@link ClaimLost}, and as `ImportFile.from`.
 */
export async function loadLines(run: Run): Promise<void> {
  const { context, claim } = run
  if (await areLoaded(run)) return
  await removeUndoLines(context.db, claim)
  const splitter = new RowSplitter()
  const file = new ImportFile(context, claim.file)
  let line = 0
  let lines: Lines = changesFileColumns.map(() => [])
  const save = async () => {
    const count = lines[0]?.length ?? 0
    if (count > 0) await saveLines(run, line, lines)
    line += count
    lines = changesFileColumns.map(() => [])
  }
  for await (const block of readRows(file.from(0), { columns: changesFileColumns.length })) {
    for (const row of block.rowEnd.keys()) {
      const { bytes, start: starts, end: ends } = splitter.split(block, row)
      for (const [index, values] of lines.entries()) {
        const [start = 0, end = 0] = [starts[index], ends[index]]
        // No value is nothing, and an empty string has its quotes.
        values.push(start === end && bytes[start - 1] !== quote ? null : bytes.toString('utf8', start, end))
      }
    }
    if ((lines[0]?.length ?? 0) >= linesAtATime) await save()
  }
  await save()
}

/** Saves lines of which the first has this number in the file. Throws {@link ClaimLost}. */
async function saveLines({ context, claim }: Run, line: number, lines: Lines): Promise<void> {
  const [userIds = [], keys = [], types = [], befores = [], afters = []] = lines.map(encodeTextArray)
  // The lock keeps the next claim waiting: after it, these lines would stay when the import has ended.
  const { numAffectedRows = 0n } = await prepared`
    insert into undo_lines (app_id, import_id, line, user_id, key, type, before, after)
    select app_id, import_id, ${line}::bigint + number - 1, user_id, key, type, before, after
    from (
      select app_id, import_id from imports
      where app_id = ${claim.appId}::integer and import_id = ${claim.importId}::uuid and attempt = ${claim.attempt}::integer
        and state = ${claim.state}
      for share
    ) held
    cross join unnest(${userIds}::text[], ${keys}::text[], ${types}::text[], ${befores}::text[], ${afters}::text[])
      with ordinality as given (user_id, key, type, before, after, number)
    where ${line}::bigint + number > 1 -- without the header
  `.execute(context.db)
  if (numAffectedRows === 0n && line + (lines[0]?.length ?? 0) > 1) throw new ClaimLost()
}

/** Whether as many lines are loaded as the import has counted. After a crash of Postgres, there are none. */
export async function areLoaded({ context, claim }: Run): Promise<boolean> {
  const { rows } = await sql<{ are_loaded: boolean }>`
    select (select count(*) from undo_lines l where l.app_id = i.app_id and l.import_id = ${claim.importId}) = (
        select coalesce(sum(of_key.value::bigint), 0)
        from jsonb_each(changes -> 'keys') keys cross join lateral jsonb_each_text(keys.value) of_key
      ) as are_loaded
    from imports i where app_id = ${claim.appId} and import_id = ${claim.undoOf}
  `.execute(context.db)
  return rows[0]?.are_loaded === true
}

/** Maximum number of rows of `undo_lines` in one `delete`. */
const rowsPerDelete = 20_000

/** Removes the lines that an undo has loaded, or those of all undos of an app. Ends early if the process shuts down. */
export async function removeUndoLines(
  db: Database,
  { appId, importId }: { appId: number; importId?: string },
  shutdown?: AbortSignal,
): Promise<void> {
  const ofImport = importId === undefined ? sql`` : sql`and import_id = ${importId}`
  while (shutdown?.aborted !== true) {
    const { numAffectedRows = 0n } = await sql`
      delete from undo_lines where app_id = ${appId} and ctid = any(array(
        select ctid from undo_lines where app_id = ${appId} ${ofImport} limit ${rowsPerDelete}
      ))
    `.execute(db)
    if (Number(numAffectedRows) < rowsPerDelete) return
  }
}
