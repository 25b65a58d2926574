import { type Database, isDue, sql } from '@sluice/database'
import type { ImportContext, ImportId } from '../context.ts'
import { importPrefix } from './object-keys.ts'

/** What sweeping needs. */
export type SweepContext = Pick<ImportContext, 'db' | 'storage' | 'log' | 'shutdown'>

/**
 * How long somebody may still write where files were removed, hours. An upload address is good for 5 minutes, and an upload is
 * waited for no longer than a day; requests of our own processes end sooner.
 */
const lastWriteHours = 25

/** A sweep that storage refuses is repeated after so many minutes. */
const retryMinutes = 10

/** Places taken from the table at a time. */
const passSize = 100

/**
 * Has the place of an import in storage cleared once more when nobody can write there any longer. Runs in the transaction that
 * makes the import, or its row, give its files up: so every object belongs to a row or to a sweep.
 */
export async function sweepLater(tx: Database, { appId, importId }: ImportId): Promise<void> {
  await sql`
    insert into file_sweeps as s (app_id, import_id, due_at)
    values (${appId}, ${importId}, now() + make_interval(hours => ${lastWriteHours}))
    on conflict (app_id, import_id) do update set due_at = greatest(s.due_at, excluded.due_at)
  `.execute(tx)
}

/** Clears the places whose time has come, each once a run. Safe to run in several processes at once. Returns how many it cleared. */
export async function sweepFiles(context: SweepContext): Promise<number> {
  let swept = 0
  let last: ImportId = { appId: 0, importId: firstId }
  for (;;) {
    const taken = await takeDueSweeps(context.db, last)
    for (const sweep of taken) {
      if (context.shutdown?.aborted) return swept
      if (await clear(context, sweep)) {
        await endSweep(context.db, sweep)
        swept += 1
      }
    }
    last = taken.at(-1) ?? last
    if (taken.length < passSize) return swept
  }
}

/**
 * Clears all places of an app that await a sweep: a deletion completes, and what was written there since may name its users. The
 * sweeps stay due. Returns how many places storage did not clear.
 */
export async function sweepFilesOfApp(context: SweepContext, appId: number): Promise<number> {
  const rows = await context.db.selectFrom('file_sweeps').select('import_id').where('app_id', '=', appId).execute()
  let failures = 0
  for (const { import_id: importId } of rows) {
    context.shutdown?.throwIfAborted()
    if (!(await clear(context, { appId, importId }))) failures += 1
  }
  return failures
}

interface Sweep extends ImportId {
  /** As Postgres writes it. */
  dueAt: string
}

/** Precedes every ID. */
const firstId = '00000000-0000-0000-0000-000000000000'

/**
 * Claims sweeps, and puts them off: whoever takes them may die. Accepts the last one that this run has taken: with slow storage, a
 * run may last until its first ones are due again.
 */
async function takeDueSweeps(db: Database, last: ImportId): Promise<Sweep[]> {
  const { rows } = await sql<{ app_id: number; import_id: string; due_at: string }>`
    with due as (
      select app_id, import_id from file_sweeps
      where (app_id, import_id) > (${last.appId}::integer, ${last.importId}::uuid)
        and ${isDue(sql`due_at`, lastWriteHours * 3_600_000)}
      order by app_id, import_id limit ${passSize} for update skip locked
    ), taken as (
      update file_sweeps s set due_at = now() + make_interval(mins => ${retryMinutes})
      from due where s.app_id = due.app_id and s.import_id = due.import_id
      returning s.app_id, s.import_id, s.due_at::text
    )
    select * from taken order by app_id, import_id
  `.execute(db)
  return rows.map((row) => ({ appId: row.app_id, importId: row.import_id, dueAt: row.due_at }))
}

async function clear({ storage, log }: SweepContext, { appId, importId }: ImportId): Promise<boolean> {
  try {
    await storage.removeAll(importPrefix(appId, importId))
    return true
  } catch (error) {
    log.warn({ app_id: appId, import_id: importId, err: error }, 'files not swept')
    return false
  }
}

/** Forgets a sweep, unless another one was asked for meanwhile. */
async function endSweep(db: Database, { appId, importId, dueAt }: Sweep): Promise<void> {
  await db
    .deleteFrom('file_sweeps')
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('due_at', '=', sql<Date>`${dueAt}::timestamptz`)
    .execute()
}
