import { sql } from '@sluice/database'
import type { ImportContext, ImportId } from './context.ts'
import { importPrefix } from './object-keys.ts'

/** Imports taken from the table at a time. */
const passSize = 100

/** An upload that broke its window may still arrive within a day: the files of an expired import stay that long. */
const expiredRetentionDays = 2

/**
 * Removes the stored files of imports that ended `FILE_RETENTION_DAYS` ago. Safe to run in several processes at once.
 *
 * Gives the number of imports whose files are gone now.
 */
export async function removeOldFiles(context: ImportContext): Promise<number> {
  let removed = 0
  let after = new Date(0)
  for (;;) {
    const due = await dueImports(context, after)
    for (const each of due) removed += await removeFiles(context, each)
    const last = due.at(-1)
    if (last === undefined || context.shutdown?.aborted) return removed
    after = last.finishedAt
  }
}

interface EndedImport extends ImportId {
  finishedAt: Date
}

/** The imports whose time has come, oldest first; those at `after` and before were looked at in this run. */
async function dueImports({ db, settings }: ImportContext, after: Date): Promise<EndedImport[]> {
  const { rows } = await sql<{ app_id: number; import_id: string; finished_at: Date }>`
    select app_id, import_id, finished_at from imports
    where files_removed_at is null and state in ('completed', 'failed', 'expired') and finished_at > ${after}
      and finished_at < now() - make_interval(days => case
        when state = 'expired' then ${expiredRetentionDays} else ${settings.FILE_RETENTION_DAYS}::integer end)
    order by finished_at limit ${passSize}
  `.execute(db)
  return rows.map((row) => ({ appId: row.app_id, importId: row.import_id, finishedAt: row.finished_at }))
}

/** Gives 1, or 0 where storage did not let it: then the next run tries again, and the others are not held up. */
async function removeFiles({ db, storage, log }: ImportContext, { appId, importId }: ImportId): Promise<number> {
  try {
    await storage.removeAll(importPrefix(appId, importId))
    await db.transaction().execute(async (tx) => {
      const ofImport = { app_id: appId, import_id: importId }
      await tx
        .deleteFrom('import_error_chunks')
        .where((where) => where.and(ofImport))
        .execute()
      await tx
        .updateTable('imports')
        .set({ files_removed_at: sql<Date>`now()` })
        .where((where) => where.and(ofImport))
        .execute()
    })
    log.info({ app_id: appId, import_id: importId }, 'files removed')
    return 1
  } catch (error) {
    log.warn({ app_id: appId, import_id: importId, err: error }, 'files not removed')
    return 0
  }
}
