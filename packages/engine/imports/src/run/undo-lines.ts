import { changesFileColumns } from '@sluice/batches'
import { cellsOf, readRows } from '@sluice/csv'
import { type Database, encodeTextArray, sql } from '@sluice/database'
import { ImportFile } from '../file/source.ts'
import { ClaimLost } from '../order/claim.ts'
import type { Run } from './run.ts'

const quote = 0x22

/**
 * Loads the lines of the changes file that a run undoes, unless they are loaded already: a preceding worker may have
 * done it. Throws {@link ClaimLost}, and as `ImportFile.from`.
 */
export async function loadLines(run: Run): Promise<void> {
  const { context, claim } = run
  if (await areLoaded(run)) return
  await removeUndoLines(context.db, claim)
  let line = 0
  const file = new ImportFile(context, claim.file)
  for await (const block of readRows(file.from(0), { columns: changesFileColumns.length })) {
    const columns: (string | null)[][] = changesFileColumns.map(() => [])
    for (const row of block.rowEnd.keys())
      for (const [index, cell] of cellsOf(block, row).entries()) {
        // No value is nothing, and an empty string has its quotes.
        const isQuoted = block.bytes[cell.byteOffset - block.bytes.byteOffset - 1] === quote
        columns[index]?.push(cell.length === 0 && !isQuoted ? null : cell.toString())
      }
    const arrays = columns.map((values) => sql`${encodeTextArray(values)}::text[]`)
    // The lock keeps the next claim waiting: after it, these lines would stay when the import has ended.
    const { numAffectedRows = 0n } = await sql`
      insert into undo_lines (app_id, import_id, line, user_id, key, type, before, after)
      select app_id, import_id, ${line}::bigint + number - 1, user_id, key, type, before, after
      from (
        select app_id, import_id from imports
        where app_id = ${claim.appId} and import_id = ${claim.importId} and attempt = ${claim.attempt} and state = ${claim.state}
        for share
      ) held
      cross join unnest(${sql.join(arrays)}) with ordinality as given (user_id, key, type, before, after, number)
      where ${line}::bigint + number > 1 -- without the header
    `.execute(context.db)
    line += block.count
    if (numAffectedRows === 0n && line > 1) throw new ClaimLost()
  }
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
