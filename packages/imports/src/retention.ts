import { sql } from '@sluice/database'
import type { ImportContext } from './context.ts'
import { importPrefix } from './object-keys.ts'

/** Imports whose files one pass removes. */
const passSize = 100

/** An upload that broke its window may still arrive within a day: the files of an expired import stay that long. */
const expiredRetentionDays = 2

/**
 * Removes the stored files of imports that ended `FILE_RETENTION_DAYS` ago. Safe to run in several processes at once.
 *
 * Gives the number of imports whose files are gone now.
 */
export async function removeOldFiles({ db, storage, settings, log }: ImportContext): Promise<number> {
  const { rows } = await sql<{ app_id: number; import_id: string }>`
    select app_id, import_id from imports
    where files_removed_at is null and state in ('completed', 'failed', 'expired')
      and finished_at < now() - make_interval(days => case
        when state = 'expired' then ${expiredRetentionDays} else ${settings.FILE_RETENTION_DAYS}::integer end)
    order by finished_at limit ${passSize}
  `.execute(db)
  for (const { app_id: appId, import_id: importId } of rows) {
    await storage.removeAll(importPrefix(appId, importId))
    await db
      .updateTable('imports')
      .set({ files_removed_at: sql<Date>`now()` })
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .execute()
    log.info({ app_id: appId, import_id: importId }, 'files removed')
  }
  return rows.length
}
