import { sql } from '@sluice/database'
import { forgetMailContents } from '@sluice/mail'
import { forgetFileNames } from '@sluice/webhooks'
import type { ImportContext, ImportId } from './context.ts'
import { sweepFilesOfApp, sweepLater } from './file/file-sweeps.ts'
import { importPrefix } from './file/object-keys.ts'
import { receivedSources } from './intake/reservation.ts'
import { removeChunks } from './result/drop-rows.ts'

/** Maximum number of imports that one query returns. */
const passSize = 100

/**
 * Days until files are removed if their import expired, or was cancelled before its file came. The upload may still
 * arrive within a day.
 */
const expiredRetentionDays = 2

/**
 * Removes the stored files of imports that ended `FILE_RETENTION_DAYS` ago (design.md §3, Stored files). If a deletion
 * completed since an import was sent, its files are removed as soon as the import has ended. Safe to run in several
 * processes at once.
 *
 * Tries each import once. Stops before the next import when the process shuts down. Returns the number of imports whose
 * files it removed.
 */
export async function removeOldFiles(context: ImportContext): Promise<number> {
  let removed = 0
  let after: Cursor | undefined = { finished_at: '-infinity', import_id: '00000000-0000-0000-0000-000000000000' }
  while (after !== undefined) {
    const due: DueImport[] = await dueImports(context, after)
    for (const { app_id: appId, import_id: importId } of due) {
      if (context.shutdown?.aborted) return removed
      if (await isShared(context, { appId, importId })) continue
      removed += await removeFiles(context, { appId, importId })
    }
    after = due.at(-1)
  }
  return removed
}

/** A deletion completed since the data of import `i` was sent, so its files may name deleted users. */
export const followsDeletion = sql`exists (
  select from recently_deleted_users d where d.app_id = i.app_id and d.data_order > i.data_order
)`

/**
 * The last import that this run has tried. The time is Postgres's own text, because a JavaScript date has no
 * microseconds. An import whose files cannot be removed would follow a truncated time again, and this run would never
 * end.
 */
interface Cursor {
  finished_at: string
  import_id: string
}

interface DueImport extends Cursor {
  app_id: number
}

/** Returns the next imports whose files are due for removal, in the order of their ends, starting after the cursor. */
async function dueImports({ db, settings }: ImportContext, after: Cursor): Promise<DueImport[]> {
  const { rows } = await sql<DueImport>`
    select app_id, import_id, finished_at::text as finished_at from imports i
    where files_removed_at is null and state in ('completed', 'failed', 'expired', 'cancelled') and not report_due
      and (i.finished_at, import_id) > (${after.finished_at}::timestamptz, ${after.import_id}::uuid)
      and i.finished_at < now() - make_interval(days => case
        when state = 'expired' and source <> all (${receivedSources}) then ${expiredRetentionDays}
        when ${followsDeletion} then 0
        when state = 'expired' or state = 'cancelled' and queued_at is null then ${expiredRetentionDays}
        else ${settings.FILE_RETENTION_DAYS}::integer end)
    order by i.finished_at, import_id limit ${passSize}
  `.execute(db)
  return rows
}

/** What removing files needs. */
export type FilesContext = Pick<ImportContext, 'db' | 'storage' | 'log' | 'shutdown'>

/**
 * Removes the stored files of all ended imports of an app, whatever their age, because a deletion completes. The files
 * of unfinished imports, which may be shared, are removed when these end. Safe to repeat, and to run in several
 * processes.
 *
 * Returns the number of imports and of sweeps (`file/file-sweeps.ts`) whose files could not be removed. The next run
 * tries them again. Throws when the process shuts down.
 */
export async function removeFilesOfApp(context: FilesContext, appId: number): Promise<number> {
  let failures = await sweepFilesOfApp(context, appId)
  // A late upload may still queue an expired import of v3, which then ends as any other import. Retries precede the
  // imports whose files they share.
  const ended = await context.db
    .selectFrom('imports')
    .select('import_id')
    .orderBy('sequence_number', 'desc')
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
    if (await isShared(context, { appId, importId })) continue
    failures += 1 - (await removeFiles(context, { appId, importId }))
  }
  return failures
}

/**
 * Removes what the check of an app's held import keeps, because a deletion completes: its files and its warnings, which
 * may name deleted users. The file that was checked stays, as that of a queued import does. An approval then has the
 * file checked again (`order/approve.ts`). Safe to repeat.
 *
 * Returns the number of imports whose files could not be removed. The next run tries them again.
 */
export async function removeStoredChecks({ db, storage, log }: FilesContext, appId: number): Promise<number> {
  const ofHeld = db.selectFrom('imports').where('app_id', '=', appId).where('state', '=', 'held')
  let failures = 0
  for (const held of await ofHeld.select(['import_id', 'error_file_key', 'changes_file_key']).execute()) {
    try {
      for (const key of [held.error_file_key, held.changes_file_key]) if (key !== null) await storage.remove(key)
      await db
        .updateTable('imports')
        .set({ error_file_key: null, error_file_secret: null, changes_file_key: null, changes_file_secret: null })
        .set({ warnings: '[]', deletions_applied_until: null })
        .where('app_id', '=', appId)
        .where('import_id', '=', held.import_id)
        .where('state', '=', 'held')
        .execute()
    } catch (error) {
      log.warn({ app_id: appId, import_id: held.import_id, err: error }, 'files of a check not removed')
      failures += 1
    }
  }
  return failures
}

/**
 * Returns whether a retry still needs the file of an import. The prefix of a retry itself has only error files. If a
 * retry begins during the removal, it fails because its file is gone.
 */
async function isShared({ db }: FilesContext, { appId, importId }: ImportId): Promise<boolean> {
  const { rows } = await sql`
    select from imports i join imports r on r.app_id = i.app_id and r.object_key = i.object_key
    where i.app_id = ${appId} and i.import_id = ${importId} and i.retry_of is null and r.retry_of is not null
      and r.files_removed_at is null
    limit 1
  `.execute(db)
  return rows.length > 0
}

/** Maximum number of imports whose names and warnings one statement removes. */
const tracesAtATime = 1_000

/**
 * Removes the names of an app's removed files, the warnings about them, and the contents of their mails, if a deletion
 * completed since the files were sent. A name may hold the ID of a deleted user, and a warning a value. All of them are
 * removed, because checking them would compare every name with every ID. A file that is still stored loses them when it
 * is removed. Throws when the process shuts down.
 */
export async function forgetFileTraces({ db, shutdown }: FilesContext, appId: number): Promise<void> {
  for (;;) {
    shutdown?.throwIfAborted()
    const { numAffectedRows } = await sql`
      update imports set file_name = null, warnings = '[]' where app_id = ${appId} and import_id in (
        select import_id from imports i
        where app_id = ${appId} and files_removed_at is not null and (file_name is not null or warnings <> '[]')
          and ${followsDeletion}
        limit ${tracesAtATime}
      )
    `.execute(db)
    if (Number(numAffectedRows ?? 0) < tracesAtATime) break
  }
  const isAboutOne = sql`starts_with(m.event, 'import:') and exists (
    select from imports i
    where i.app_id = m.app_id and i.import_id::text = split_part(m.event, ':', 2) and ${followsDeletion}
  )`
  await forgetMailContents(db, appId, isAboutOne, shutdown)
}

/**
 * Removes an import's files. Returns 1, or 0 if that failed. A failure is only logged, so that it does not delay other
 * imports; the next run tries again.
 */
async function removeFiles(
  { db, storage, log, shutdown }: FilesContext,
  { appId, importId }: ImportId,
): Promise<number> {
  try {
    await storage.removeAll(importPrefix(appId, importId))
    const isForgotten = await db.transaction().execute(async (tx) => {
      await removeChunks(tx, { appId, importId })
      const { rows } = await sql<{ is_forgotten: boolean }>`
        update imports i set files_removed_at = now(), file_name = case when ${followsDeletion} then null else file_name end,
          warnings = case when ${followsDeletion} then '[]' else warnings end
        where app_id = ${appId} and import_id = ${importId}
        returning ${followsDeletion} as is_forgotten
      `.execute(tx)
      await sweepLater(tx, { appId, importId })
      return rows[0]?.is_forgotten === true
    })
    if (isForgotten) {
      // The import has ended after the deletion completed, so its mail and its webhooks are newer.
      await forgetMailContents(db, appId, sql`starts_with(m.event, ${`import:${importId}`})`, shutdown)
      await forgetFileNames(db, appId, shutdown)
    }
    log.info({ app_id: appId, import_id: importId }, 'files removed')
    return 1
  } catch (error) {
    log.warn({ app_id: appId, import_id: importId, err: error }, 'files not removed')
    return 0
  }
}
