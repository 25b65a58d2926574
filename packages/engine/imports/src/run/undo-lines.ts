import { changesFileColumns, ElementList } from '@sluice/batches'
import { type Cells, RowSplitter, readRows } from '@sluice/csv'
import { copyInto, type Database, mustFind, type RawBuilder, sql, textOid, writeTogether } from '@sluice/database'
import { ByteWriter } from '@sluice/profiles'
import { ImportFile } from '../file/source.ts'
import type { Run } from './run.ts'

const quote = 0x22

/** Maximum number of lines in one transaction. A block of a file may add more. */
const linesAtATime = 5_000

/**
 * Loads the lines of the changes file that a run undoes, unless they are loaded already: a preceding worker may have
 * done it. From then on, only lines at the end of the order of users can go, or all of them. Throws `NothingFound` if
 * the claim is lost, and as `ImportFile.from`.
 */
export async function loadLines(run: Run): Promise<void> {
  const { context, claim } = run
  if (await areLoaded(run)) return
  await removeLinesOf(run)
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
  await checkLoaded(run)
}

/**
 * Throws if lines are missing: a crash of Postgres empties the table, and a deletion removes lines. The next try loads
 * them again.
 */
export async function checkLoaded(run: Run): Promise<void> {
  if (!(await areLoaded(run))) throw new Error('lines of an undo are gone')
}

/** Finds the row of an import whose claim still holds. */
const claimedRow = ({ appId, importId, attempt, state }: Run['claim']) => sql`select from imports
  where app_id = ${appId}::integer and import_id = ${importId}::uuid
    and attempt = ${attempt}::integer and state = ${state}`

/** Saves rows of `undo_lines`. Throws `NothingFound` if the claim is lost. */
async function saveRows({ context, claim }: Run, rows: Buffer): Promise<void> {
  // The lock keeps the next claim waiting: after it, these lines would stay when the import has ended.
  const claimed = sql`${claimedRow(claim)} for share`
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

/** Returns whether as many lines are loaded as the import has counted. */
async function areLoaded({ context, claim }: Run): Promise<boolean> {
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

/** Removes the lines that an undo has loaded. Removes nothing if the claim is lost: a successor may need them. */
export async function removeLinesOf({ context, claim }: Pick<Run, 'context' | 'claim'>): Promise<void> {
  const ofUndo = sql`app_id = ${claim.appId} and import_id = ${claim.importId} and exists (${claimedRow(claim)})`
  await removeLines(context.db, ofUndo)
}

/**
 * Removes the lines of all undos of an app; an undo that loads lines meanwhile removes them when it ends. Ends early if
 * the process shuts down.
 */
export async function removeUndoLines(db: Database, appId: number, shutdown?: AbortSignal): Promise<void> {
  await removeLines(db, sql`app_id = ${appId}`, shutdown)
}

/** Number of rows of `undo_lines` in one `delete`. Further rows of the first user are added. */
const rowsPerDelete = 20_000

/**
 * Removes rows from the last user on, and a user's rows together: an undo that runs meanwhile finds either all lines of
 * its next users or none of them.
 */
async function removeLines(db: Database, which: RawBuilder<unknown>, shutdown?: AbortSignal): Promise<void> {
  // Greater than each key.
  let before = { import_id: 'ffffffff-ffff-ffff-ffff-ffffffffffff', user_id: '' }
  while (shutdown?.aborted !== true) {
    const rest = sql`${which} and (import_id, user_id) < (${before.import_id}::uuid, ${before.user_id})`
    const { rows } = await sql<typeof before>`
      with first as materialized (
        select import_id, user_id from undo_lines where ${rest}
        order by import_id desc, user_id desc offset ${rowsPerDelete - 1} limit 1
      ), removed as (
        delete from undo_lines where ${rest} and (import_id, user_id) >= (
          coalesce((select import_id from first), '00000000-0000-0000-0000-000000000000'),
          coalesce((select user_id from first), '')
        )
      )
      select import_id, user_id from first
    `.execute(db)
    if (rows[0] === undefined) return
    before = rows[0]
  }
}
