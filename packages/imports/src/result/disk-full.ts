import { type Database, isDiskFull, sql } from '@sluice/database'
import type { ImportContext } from '../context.ts'
import { hasRowsToDrop } from './drop-error-rows.ts'
import { allRows } from './error-file.ts'

/** If no import keeps more than this for its error file, bytes, removing the rows would not help. */
const worthwhile = 2 ** 20

/** What smaller error files keep in all is set aside and put back, bytes: it has to fit into memory. */
const setAsideAtMost = 4 * 2 ** 20

/** Key of the lock that whoever makes room holds: "room" in ASCII. */
const makingRoom = 0x726f6f6d

/** Chunks that are put back at a time: a statement has at most 65,535 parameters, and a chunk takes seven. */
const chunksAtOnce = 1_000

/** What an import keeps for its error file. */
interface Holder {
  app_id: number
  import_id: string
  /** Bytes of its chunks. */
  bytes: number
  /** Up to where it had committed. */
  position: number
  /** Its error file is still to be made, and it has not lost its rows before. */
  is_open: boolean
}

type Context = Pick<ImportContext, 'db' | 'log'>

/**
 * Makes room on Postgres's disk if an error says that it is full: the import that keeps the most rows for its error file loses
 * them, and goes on without. Does nothing after any other error, or if no import keeps much. Never throws: whoever met the error
 * waits as in any outage, and what was tried in vain is tried again after its next one.
 *
 * A full disk leaves no room for `delete`, which writes as much log as it deletes, nor for `vacuum`, which marks each page. With
 * the log on that disk, Postgres would crash. `truncate` takes a few pages and returns the table's space to the disk at once.
 * So the table is emptied as a whole, and what other imports had in it is put back afterwards.
 */
export async function makeRoomAfter(error: unknown, context: Context): Promise<void> {
  if (isDiskFull(error)) await makeRoomAlone(context).catch((failure) => note(context, failure))
}

/**
 * Makes room unless another process is at it: a full disk meets all of them at once, and the second one would remove rows of an
 * import that has just got room.
 */
async function makeRoomAlone(context: Context): Promise<void> {
  await context.db.transaction().execute(async (tx) => {
    // Rows are removed and put back in other transactions, while this one holds the lock.
    await sql`set local idle_in_transaction_session_timeout = '60s'`.execute(tx)
    const { rows } = await sql<{
      alone: boolean
    }>`select pg_try_advisory_xact_lock(${makingRoom}::bigint) as alone`.execute(tx)
    if (rows[0]?.alone) await makeRoom(context)
  })
}

async function makeRoom(context: Context): Promise<void> {
  const { db } = context
  const [largest] = await holders(db)
  if (largest === undefined || largest.bytes < worthwhile) return
  await emptyReserve(db)
  try {
    const setAside = await db.transaction().execute((tx) => removeRows(tx, context))
    for (const rows of setAside) await putBack(db, rows).catch((failure) => note(context, failure))
  } finally {
    await reserveDisk(db)
  }
}

function note({ log }: Context, failure: unknown): void {
  log.warn({ err: failure }, 'disk of Postgres full, and something to make room failed')
}

/** The error file of an import is still to be made. */
const isOpen = sql<boolean>`(state in ('queued', 'processing') or report_due)`

/** The imports that keep rows, the largest first. */
async function holders(db: Database): Promise<Holder[]> {
  const { rows } = await sql<Holder>`
    select app_id, import_id, bytes, position, ${isOpen} and error_file_ends_before_row is null as is_open
    from imports join (
      select app_id, import_id, sum(octet_length(content))::bigint as bytes
      from import_error_chunks group by app_id, import_id
    ) chunks using (app_id, import_id)
    order by bytes desc
  `.execute(db)
  return rows
}

/** Rows of an import that are put back when there is room. */
interface SetAside extends Holder {
  chunks: { position: number; part: number; content: Buffer; starts_at: number | null; bytes: number | null }[]
}

/**
 * Removes all rows, and notes with each import that it keeps none. Returns those of the imports that are to get them back, the
 * ones with the fewest.
 */
async function removeRows(tx: Database, { log }: Context): Promise<SetAside[]> {
  await lockChunks(tx)
  const all = await holders(tx)
  // Another process was faster.
  if ((all[0]?.bytes ?? 0) < worthwhile) return []
  const setAside: SetAside[] = []
  let left = setAsideAtMost
  for (const holder of all.toReversed()) {
    const { app_id, import_id, bytes } = holder
    await tx
      .updateTable('imports')
      .set({ error_file_ends_before_row: allRows })
      .where('app_id', '=', app_id)
      .where('import_id', '=', import_id)
      .execute()
    left -= bytes
    if (holder.is_open && left >= 0 && holder !== all[0])
      setAside.push({ ...holder, chunks: await chunksOf(tx, holder) })
    else log.warn({ app_id, import_id, bytes }, 'rows of an error file removed: the disk of Postgres is full')
  }
  await sql`truncate import_error_chunks`.execute(tx)
  return setAside
}

/**
 * Locks the table until the end of the transaction. Batches that have saved rows, or would have, are over then. Others wait, and
 * so do deletions that look for rows to drop.
 * Whoever has locked an import's row may wait for the table: the wait for such a row is short, and ends the transaction.
 */
async function lockChunks(tx: Database): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(tx)
  await sql`lock table import_error_chunks in access exclusive mode`.execute(tx)
  await sql`set local lock_timeout = '500ms'`.execute(tx)
}

async function chunksOf(db: Database, { app_id, import_id }: Holder): Promise<SetAside['chunks']> {
  return await db
    .selectFrom('import_error_chunks')
    .select(['position', 'part', 'content', 'starts_at', 'bytes'])
    .where('app_id', '=', app_id)
    .where('import_id', '=', import_id)
    .execute()
}

/**
 * Puts the rows of an import back, unless a batch was committed meanwhile without its rows, a deletion would have dropped them, or
 * the import has ended.
 */
async function putBack(db: Database, { app_id, import_id, position, chunks }: SetAside): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockChunks(tx)
    const reopened = await tx
      .updateTable('imports as i')
      .set({ error_file_ends_before_row: null })
      .where('app_id', '=', app_id)
      .where('import_id', '=', import_id)
      .where('position', '=', position)
      .where(isOpen)
      .where(sql<boolean>`not ${hasRowsToDrop}`)
      .executeTakeFirst()
    if (reopened.numUpdatedRows === 0n) return
    for (let at = 0; at < chunks.length; at += chunksAtOnce) {
      const values = chunks.slice(at, at + chunksAtOnce).map((chunk) => ({ app_id, import_id, ...chunk }))
      await tx.insertInto('import_error_chunks').values(values).execute()
    }
  })
}

/** Releases the reserved room: a table that is emptied needs a page for each of its indexes. */
async function emptyReserve(db: Database): Promise<void> {
  await sql`truncate disk_reserve`.execute(db)
}

/** Fills the reserve if it is empty. Throws if there is no room for it. */
export async function reserveDisk(db: Database): Promise<void> {
  await sql`
    insert into disk_reserve select '' from generate_series(1, ${reservedRows}::integer)
    where not exists (select from disk_reserve)
  `.execute(db)
}

/** They take 1 MiB. */
const reservedRows = 11_000
