import { sql } from '@sluice/database'
import type { ImportContext, ImportId } from './context.ts'
import { sweepFilesOfApp, sweepLater } from './file/file-sweeps.ts'
import { importPrefix } from './file/object-keys.ts'
import { receivedSources } from './intake/reception.ts'

/** Imports taken from the table at a time. */
const passSize = 100

/**
 * An upload that broke its window may still arrive within a day, and so may one whose import was cancelled before it came:
 * files of such an import are removed after that.
 */
const expiredRetentionDays = 2

/**
 * Removes the stored files of imports that ended `FILE_RETENTION_DAYS` ago, and of those that a deletion has followed as
 * soon as they have ended. Safe to run in several processes at once.
 *
 * Tries each import once, and stops before the next one when the process shuts down. Returns the number of imports whose files
 * are gone now.
 */
export async function removeOldFiles(context: ImportContext): Promise<number> {
  let removed = 0
  let after: Cursor | undefined = { finished_at: '-infinity', import_id: '00000000-0000-0000-0000-000000000000' }
  while (after !== undefined) {
    const due: DueImport[] = await dueImports(context, after)
    for (const { app_id: appId, import_id: importId } of due) {
      if (context.shutdown?.aborted) return removed
      removed += await removeFiles(context, { appId, importId })
    }
    after = due.at(-1)
  }
  return removed
}

/** A deletion completed since the import was sent, so that its files may name the deleted. */
const followsDeletion = sql`exists (
  select from recently_deleted_users d where d.app_id = i.app_id and d.deleted_at > i.requested_at
)`

/** What an import `i` holds may name users who were deleted since it was sent. */
const mayNameDeleted = sql`(remove_files_at_end or ${followsDeletion})`

/**
 * The last import that this run looked at. The time is Postgres's own text: a JavaScript date has no microseconds, so an
 * import that keeps its files would come after its own time again.
 */
interface Cursor {
  finished_at: string
  import_id: string
}

interface DueImport extends Cursor {
  app_id: number
}

/** Returns the next imports whose time has come, oldest first, starting after the cursor. */
async function dueImports({ db, settings }: ImportContext, after: Cursor): Promise<DueImport[]> {
  const { rows } = await sql<DueImport>`
    select app_id, import_id, finished_at::text as finished_at from imports i
    where files_removed_at is null and state in ('completed', 'failed', 'expired', 'cancelled') and not report_due
      and (i.finished_at, import_id) > (${after.finished_at}::timestamptz, ${after.import_id}::uuid)
      and i.finished_at < now() - make_interval(days => case
        when state = 'expired' and source <> all (${receivedSources}) then ${expiredRetentionDays}
        when ${mayNameDeleted} then 0
        when state = 'expired' or state = 'cancelled' and queued_at is null then ${expiredRetentionDays}
        else ${settings.FILE_RETENTION_DAYS}::integer end)
    order by i.finished_at, import_id limit ${passSize}
  `.execute(db)
  return rows
}

/** What removing files needs. */
export type FilesContext = Pick<ImportContext, 'db' | 'storage' | 'log' | 'shutdown'>

/**
 * Removes the stored files of all imports of an app that have ended, whatever their age: a deletion completes. Those of the
 * imports that are still in flight go when they end. Safe to repeat, and to run in several processes.
 *
 * Gives how many could not be removed; the next run tries again. Throws when the process shuts down.
 */
export async function removeFilesOfApp(context: FilesContext, appId: number): Promise<number> {
  let failures = await sweepFilesOfApp(context, appId)
  // An expired import of v3 may still be queued by an upload that comes late, and then ends as any other.
  const ended = await context.db
    .selectFrom('imports')
    .select('import_id')
    .where('app_id', '=', appId)
    .where('files_removed_at', 'is', null)
    .where(({ eb, and, or, not }) =>
      or([
        eb('state', 'in', ['completed', 'failed']),
        and([eb('state', '=', 'cancelled'), not('report_due')]),
        and([eb('state', '=', 'expired'), eb('source', 'in', receivedSources)]),
      ]),
    )
    .execute()
  for (const { import_id: importId } of ended) {
    context.shutdown?.throwIfAborted()
    failures += 1 - (await removeFiles(context, { appId, importId }))
  }
  return failures
}

/** Imports whose names are forgotten in one statement. */
const namesAtATime = 1_000

/**
 * Forgets what the removed files of an app's imports were called, if a deletion completed since they were sent: a name may hold the
 * ID of a deleted user. Whether it does is not looked at: that would compare every name with every ID. A file that is still
 * there loses its name with its removal. Throws when the process shuts down.
 */
export async function forgetFileNames({ db, shutdown }: FilesContext, appId: number): Promise<void> {
  for (;;) {
    shutdown?.throwIfAborted()
    const { numAffectedRows } = await sql`
      update imports set file_name = null where app_id = ${appId} and import_id in (
        select import_id from imports i
        where app_id = ${appId} and file_name is not null and files_removed_at is not null and ${followsDeletion}
        limit ${namesAtATime}
      )
    `.execute(db)
    if (Number(numAffectedRows ?? 0) < namesAtATime) return
  }
}

/** Gives 1, or 0 where storage did not let it: then the next run tries again, and the others are not held up. */
async function removeFiles({ db, storage, log }: FilesContext, { appId, importId }: ImportId): Promise<number> {
  try {
    await storage.removeAll(importPrefix(appId, importId))
    await db.transaction().execute(async (tx) => {
      const ofImport = { app_id: appId, import_id: importId }
      await tx
        .deleteFrom('import_error_chunks')
        .where((where) => where.and(ofImport))
        .execute()
      await sql`
        update imports i set files_removed_at = now(), file_name = case when ${mayNameDeleted} then null else file_name end
        where app_id = ${appId} and import_id = ${importId}
      `.execute(tx)
      await sweepLater(tx, { appId, importId })
    })
    log.info({ app_id: appId, import_id: importId }, 'files removed')
    return 1
  } catch (error) {
    log.warn({ app_id: appId, import_id: importId, err: error }, 'files not removed')
    return 0
  }
}
