import { removeInBatches, rowsAtATime, sql } from '@sluice/database'
import type { ImportContext } from './context.ts'

/**
 * Removes the imports that ended `days` ago, a few at a time (second-day.md §6, History). An import whose files are
 * still stored, or whose report is due, stays until the files are removed and the report is made. Safe to run in
 * several processes at once.
 *
 * Returns how many imports it removed. Ends early if the process shuts down.
 */
export async function removeOldImports(
  { db, shutdown }: Pick<ImportContext, 'db' | 'shutdown'>,
  days: number,
): Promise<number> {
  const statement = sql`
    delete from imports where (app_id, import_id) in (
      select app_id, import_id from imports
      where finished_at < now() - make_interval(days => ${days}) and files_removed_at is not null and not report_due
        and state in ('completed', 'failed', 'expired', 'cancelled')
      order by finished_at limit ${rowsAtATime} for update skip locked
    )
  `
  return await removeInBatches(db, statement, shutdown)
}
