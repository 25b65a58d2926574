import { advisoryLocks, type Database, isDiskFull, sql } from '@sluice/database'
import type { ImportContext } from '../context.ts'
import { allRows, type ChunkFile } from './chunks.ts'
import { hasRowsToDrop } from './drop-rows.ts'

/**
 * Rows are removed only if an import keeps at least this many bytes for its error file. Fewer would not free enough
 * room.
 */
const worthwhileBytes = 2 ** 20

/** Maximum number of bytes of rows that are set aside in memory and restored afterwards. */
const maxSetAsideBytes = 4 * 2 ** 20

/** Chunks in one insert. A statement has at most 65,535 parameters, and a chunk takes seven. */
const chunksPerInsert = 1_000

/** An import that keeps rows for its error file. */
interface Holder {
  app_id: number
  import_id: string
  /** Number of bytes of the rows that the import keeps for its files. */
  bytes: number
  /** The import's position when its rows were removed. */
  position: number
  changes_end: number | null
  /** The import's error file is still to be made, and none of its rows were removed before. */
  is_open: boolean
}

type Context = Pick<ImportContext, 'db' | 'log'>

/**
 * Makes room on Postgres's disk if `error` tells that it is full. The import that keeps the most rows for its error
 * file loses them, and continues without an error file. Does nothing after any other error, or if no import keeps much.
 *
 * Never throws. The caller treats the error as an outage and retries; if making room failed, the next such error tries
 * again.
 *
 * A full disk has no room for `delete`, which writes as much log as it deletes, nor for `vacuum`, which marks each
 * page. If the log is on that disk, Postgres would crash. `truncate` needs a few pages and returns the table's space to
 * the disk at once. So the whole table is truncated, and the rows of the other imports are restored afterwards.
 */
export async function makeRoomAfter(error: unknown, context: Context): Promise<void> {
  if (isDiskFull(error)) await makeRoomAlone(context).catch((failure) => note(context, failure))
}

/**
 * Makes room unless another process is making room. All processes notice a full disk at the same time, and a second one
 * would needlessly remove the rows of another import.
 */
async function makeRoomAlone(context: Context): Promise<void> {
  await context.db.transaction().execute(async (tx) => {
    // This transaction only holds the lock. Meanwhile `makeRoom` removes and restores rows in transactions of its own,
    // which may take longer than the time after which Postgres ends an idle transaction.
    await sql`set local idle_in_transaction_session_timeout = '60s'`.execute(tx)
    const { rows } = await sql<{ alone: boolean }>`
      select pg_try_advisory_xact_lock(${advisoryLocks.roomOnDisk}::integer, 0) as alone
    `.execute(tx)
    if (rows[0]?.alone) await makeRoom(context)
  })
}

async function makeRoom(context: Context): Promise<void> {
  const { db } = context
  const [largest] = await holders(db)
  if (largest === undefined || largest.bytes < worthwhileBytes) return
  // Truncating the table of kept rows needs a page for each of its indexes.
  await sql`truncate disk_reserve`.execute(db)
  try {
    const setAside = await db.transaction().execute((tx) => removeRows(tx, context))
    for (const rows of setAside) await restore(db, rows).catch((failure) => note(context, failure))
  } finally {
    await reserveDisk(db)
  }
}

function note({ log }: Context, failure: unknown): void {
  log.warn({ err: failure }, 'making room on the full disk of Postgres failed')
}

/** Whether the error file of an import is still to be made. */
const isOpen = sql<boolean>`(state in ('queued', 'processing') or report_due)`

/** Returns the imports that keep rows, by bytes, largest first. */
async function holders(db: Database): Promise<Holder[]> {
  const { rows } = await sql<Holder>`
    select app_id, import_id, bytes, position, changes_file_ends_before_row as changes_end, ${isOpen} and error_file_ends_before_row is null as is_open
    from imports join (
      select app_id, import_id, sum(octet_length(content))::bigint as bytes
      from import_chunks group by app_id, import_id
    ) chunks using (app_id, import_id)
    order by bytes desc
  `.execute(db)
  return rows
}

/** Rows of an import that are restored when there is room. */
interface SetAside extends Holder {
  chunks: { file: ChunkFile; position: number; content: Buffer; starts_at: number; bytes: number }[]
}

/**
 * Removes the kept rows of all imports, and notes in each that it keeps none. Returns the rows to restore: those of the
 * imports that keep the fewest bytes, up to `maxSetAsideBytes` in all. Leaves out the import that keeps the most, and
 * imports that need no error file any more. Removes and returns nothing if another process was faster.
 */
async function removeRows(tx: Database, { log }: Context): Promise<SetAside[]> {
  await lockChunks(tx)
  const all = await holders(tx)
  // Another process was faster.
  if ((all[0]?.bytes ?? 0) < worthwhileBytes) return []
  const setAside: SetAside[] = []
  let left = maxSetAsideBytes
  for (const holder of all.toReversed()) {
    const { app_id, import_id, bytes } = holder
    await tx
      .updateTable('imports')
      .set({
        error_file_ends_before_row: allRows,
        changes_file_ends_before_row: sql`case when keep_changes then ${allRows}::integer end`,
      })
      .where('app_id', '=', app_id)
      .where('import_id', '=', import_id)
      .execute()
    left -= bytes
    if (holder.is_open && left >= 0 && holder !== all[0])
      setAside.push({ ...holder, chunks: await chunksOf(tx, holder) })
    else log.warn({ app_id, import_id, bytes }, 'rows of an error file removed: the disk of Postgres is full')
  }
  await sql`truncate import_chunks`.execute(tx)
  return setAside
}

/**
 * Locks the table until the end of the transaction. Waits for batches that have saved rows. Batches that are to save
 * rows wait, and so do deletions that look for rows to drop.
 *
 * Another transaction may have locked an import's row and wait for the table. So this transaction waits only briefly
 * for a row, and then fails, which ends the deadlock.
 */
async function lockChunks(tx: Database): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(tx)
  await sql`lock table import_chunks in access exclusive mode`.execute(tx)
  await sql`set local lock_timeout = '500ms'`.execute(tx)
}

async function chunksOf(db: Database, { app_id, import_id }: Holder): Promise<SetAside['chunks']> {
  return await db
    .selectFrom('import_chunks')
    .select(['file', 'position', 'content', 'starts_at', 'bytes'])
    .where('app_id', '=', app_id)
    .where('import_id', '=', import_id)
    .execute()
}

/**
 * Restores the rows of an import. Does nothing if a batch has committed meanwhile without its rows, if a deletion would
 * have dropped them, or if the import has ended.
 */
async function restore(db: Database, { app_id, import_id, position, changes_end, chunks }: SetAside): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockChunks(tx)
    const reopened = await tx
      .updateTable('imports as i')
      .set({ error_file_ends_before_row: null, changes_file_ends_before_row: changes_end })
      .where('app_id', '=', app_id)
      .where('import_id', '=', import_id)
      .where('position', '=', position)
      .where(isOpen)
      .where(sql<boolean>`not ${hasRowsToDrop}`)
      .executeTakeFirst()
    if (reopened.numUpdatedRows === 0n) return
    for (let at = 0; at < chunks.length; at += chunksPerInsert) {
      const values = chunks.slice(at, at + chunksPerInsert).map((chunk) => ({ app_id, import_id, ...chunk }))
      await tx.insertInto('import_chunks').values(values).execute()
    }
  })
}

/** Fills the reserve if it is empty. Throws if there is no room for it. */
export async function reserveDisk(db: Database): Promise<void> {
  await sql`
    insert into disk_reserve select '' from generate_series(1, ${reservedRows}::integer)
    where not exists (select from disk_reserve)
  `.execute(db)
}

/** Rows of the reserve, which take 1 MiB. */
const reservedRows = 11_000
