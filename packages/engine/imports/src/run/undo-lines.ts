import { changesFileColumns, ElementList } from '@sluice/batches'
import { type Cells, RowSplitter, readRows } from '@sluice/csv'
import { copyInto, type Database, mustFind, sql, textOid, writeTogether } from '@sluice/database'
import { ByteWriter } from '@sluice/profiles'
import { ImportFile } from '../file/source.ts'
import type { Run } from './run.ts'

const quote = 0x22

/** Maximum number of lines in one transaction. A block of a file may add more. */
const linesAtATime = 5_000

/**
 * Loads the lines of the changes file that a run undoes, unless they are loaded already: a preceding worker may have
 * done it. Throws `NothingFound` if the claim is lost, and as `ImportFile.from`.
 */
export async function loadLines(run: Run): Promise<void> {
  const { context, claim } = run
  if (await areLoaded(run)) return
  await removeUndoLines(context.db, claim)
  const splitter = new RowSplitter()
  const file = new ImportFile(context, claim.file)
  const rows = new UndoRows(claim)
  // The header has the number 0.
  let line = 0
  let saved = 0
  for await (const block of readRows(file.from(0), { columns: changesFileColumns.length })) {
    for (const row of block.rowEnd.keys()) {
      const cells = splitter.split(block, row)
      if (line > 0) rows.add(line, cells)
      line++
    }
    if (line - saved < linesAtATime) continue
    await saveRows(run, rows.take())
    saved = line
  }
  if (line > saved) await saveRows(run, rows.take())
}

/** Saves rows of `undo_lines`. Throws `NothingFound` if the claim is lost. */
async function saveRows({ context, claim }: Run, rows: Buffer): Promise<void> {
  // The lock keeps the next claim waiting: after it, these lines would stay when the import has ended.
  const claimed = sql`select from imports
    where app_id = ${claim.appId}::integer and import_id = ${claim.importId}::uuid
      and attempt = ${claim.attempt}::integer and state = ${claim.state}
    for share`
  await writeTogether(context.db, [mustFind(claimed.compile(context.db))], async () => ({
    writes: [copyInto('undo_lines', copiedColumns, rows)],
    result: undefined,
  }))
}

const copiedColumns = ['app_id', 'import_id', 'line', 'user_id', 'keys', 'types', 'befores', 'afters'] as const

/** Makes rows of `undo_lines` for `copyInto` from the lines of a changes file. */
class UndoRows {
  readonly #rows = new ByteWriter(2 ** 20)
  /** The columns before the number of the first line. */
  readonly #start: Buffer
  /** The user of the open row. */
  readonly #user = new ElementList(textOid)
  #firstLine = 0
  readonly #arrays = changesFileColumns.slice(1).map(() => new ElementList(textOid))

  constructor({ appId, importId }: Run['claim']) {
    const start = new ByteWriter(2 ** 5)
    start.write(Buffer.from([0, copiedColumns.length]))
    start.writeInt32(4)
    start.writeInt32(appId)
    start.writeInt32(16)
    start.write(Buffer.from(importId.replaceAll('-', ''), 'hex'))
    this.#start = start.bytes.subarray(0, start.length)
  }

  /** Adds a line to the open row if it is of the same user, and opens a row otherwise. */
  add(line: number, { bytes, start, end }: Cells): void {
    const [from = 0, to = 0] = [start[0], end[0]]
    if (this.#user.count === 0 || !this.#user.equals(0, bytes, from, to)) {
      this.#endRow()
      this.#user.begin().write(bytes, from, to)
      this.#user.end()
      this.#firstLine = line
    }
    for (const [index, array] of this.#arrays.entries()) addCell(array, bytes, start[index + 1], end[index + 1])
  }

  /** Returns the rows since the last call, valid until the next line is added. */
  take(): Buffer {
    this.#endRow()
    const rows = this.#rows.bytes.subarray(0, this.#rows.length)
    this.#rows.length = 0
    return rows
  }

  #endRow(): void {
    if (this.#user.count === 0) return
    this.#rows.write(this.#start)
    this.#rows.writeInt32(8)
    this.#rows.writeInt64(this.#firstLine)
    this.#user.writeTo(this.#rows, 0)
    for (const list of this.#arrays) {
      const array = list.array()
      this.#rows.writeInt32(array.length)
      this.#rows.write(array)
      list.clear()
    }
    this.#user.clear()
  }
}

/** Adds a cell to an array. No value is nothing, and an empty string has its quotes. */
function addCell(array: ElementList, bytes: Buffer, start = 0, end = 0): void {
  if (start === end && bytes[start - 1] !== quote) array.addNull()
  else {
    array.begin().write(bytes, start, end)
    array.end()
  }
}

/** Whether as many lines are loaded as the import has counted. After a crash of Postgres, there are none. */
export async function areLoaded({ context, claim }: Run): Promise<boolean> {
  const { rows } = await sql<{ are_loaded: boolean }>`
    select (
        select coalesce(sum(cardinality(keys)), 0) from undo_lines l
        where l.app_id = i.app_id and l.import_id = ${claim.importId}
      ) = (
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
