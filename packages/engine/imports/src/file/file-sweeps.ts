import { type Database, isDue, sql } from '@sluice/database'
import { lastWriteHours, lastWriteMs } from '@sluice/storage'
import type { ImportContext, ImportId } from '../context.ts'
import { importPrefix } from './object-keys.ts'

/** What sweeping needs. */
export type SweepContext = Pick<ImportContext, 'db' | 'storage' | 'log' | 'shutdown'>

/** Minutes until a sweep that failed is repeated. */
const retryMinutes = 10

/** Maximum number of sweeps that one query claims. */
const passSize = 100

/**
 * Schedules a sweep: the prefix of an import is cleared once more when nobody can write there any longer. Call it in
 * the transaction that removes the import's row or marks its files as removed. So every object belongs to a row or to a
 * sweep.
 */
export async function sweepLater(tx: Database, { appId, importId }: ImportId): Promise<void> {
  await sql`
    insert into file_sweeps as s (app_id, import_id, due_at)
    values (${appId}, ${importId}, now() + make_interval(hours => ${lastWriteHours}))
    on conflict (app_id, import_id) do update set due_at = greatest(s.due_at, excluded.due_at)
  `.execute(tx)
}

/**
 * Runs the sweeps that are due, each once. Safe to run in several processes at once. Returns how many prefixes it
 * cleared.
 */
export async function sweepFiles(context: SweepContext): Promise<number> {
  let swept = 0
  let last: ImportId = { appId: 0, importId: firstId }
  for (;;) {
    const claimed = await claimDueSweeps(context.db, last)
    for (const sweep of claimed) {
      if (context.shutdown?.aborted) return swept
      if (await clear(context, sweep)) {
        await endSweep(context.db, sweep)
        swept += 1
      }
    }
    last = claimed.at(-1) ?? last
    if (claimed.length < passSize) return swept
  }
}

/**
 * Clears all prefixes of an app that await a sweep, because a deletion completes: files that were written there since
 * may name the deleted users. The sweeps stay scheduled. Returns how many prefixes could not be cleared.
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
  /** Postgres's own text, because a JavaScript date has no microseconds. */
  dueAt: string
}

/** Precedes every ID. */
const firstId = '00000000-0000-0000-0000-000000000000'

/**
 * Claims due sweeps by postponing them: if this process dies, they become due again. Accepts the last sweep of this
 * run, and returns only later sweeps. With slow storage, the first sweeps of a run may be due again before the run
 * ends.
 */
async function claimDueSweeps(db: Database, last: ImportId): Promise<Sweep[]> {
  const { rows } = await sql<{ app_id: number; import_id: string; due_at: string }>`
    with due as (
      select app_id, import_id from file_sweeps
      where (app_id, import_id) > (${last.appId}::integer, ${last.importId}::uuid)
        and ${isDue(sql`due_at`, lastWriteMs)}
      order by app_id, import_id limit ${passSize} for update skip locked
    ), claimed as (
      update file_sweeps s set due_at = now() + make_interval(mins => ${retryMinutes})
      from due where s.app_id = due.app_id and s.import_id = due.import_id
      returning s.app_id, s.import_id, s.due_at::text
    )
    select * from claimed order by app_id, import_id
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

/** Removes a sweep from the table, unless it was scheduled again meanwhile. */
async function endSweep(db: Database, { appId, importId, dueAt }: Sweep): Promise<void> {
  await db
    .deleteFrom('file_sweeps')
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .where('due_at', '=', sql<Date>`${dueAt}::timestamptz`)
    .execute()
}
