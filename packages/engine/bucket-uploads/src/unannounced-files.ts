import { type Database, hasOutsideCause, isOutOfRoom, sql } from '@sluice/database'
import { TooManyWaiting } from '@sluice/imports'
import { enqueueMails, forgetMailContents, type MailId, refusedFileNotification } from '@sluice/mail'
import { ObjectGone, ObjectReplaced, StorageFull } from '@sluice/storage'
import type { MaintenanceContext } from './context.ts'
import { findUnannouncedFiles, type UnannouncedFile } from './find-unannounced-files.ts'
import { precedesDeletion } from './order-of-file.ts'
import { fileNameProblem, fileSizeProblem } from './path.ts'
import { noteFailure, noteMail, refusedFiles, unreadableProblem } from './unannounced-failures.ts'
import { type BucketUpload, beginUpload, finishUpload, unlessBroken } from './uploads.ts'

/** The result of a run: the number of new imports, and the new mails. */
interface Outcome {
  imported: number
  mails: MailId[]
}

/**
 * Imports the unannounced files, oldest first, and removes each from its path. A refused file stays for
 * `FILE_RETENTION_DAYS`, and a mail states the reason.
 *
 * If importing a file fails, later files of its app wait for the next run, until the file is refused. Any number of
 * processes may run this at once, and may die at any point: a file is identified by its key, ETag and time, and never
 * becomes two imports. Ends before the next file if the process shuts down.
 */
export async function importUnannouncedFiles(context: MaintenanceContext): Promise<Outcome> {
  const { all, importable } = await findUnannouncedFiles(context)
  const refused = await refusedFiles(context.db, all)
  const outcome: Outcome = { imported: 0, mails: [] }
  const blockedApps = new Set<number>()
  for (const file of importable) {
    if (context.shutdown?.aborted) break
    const problem = problemOf(file, refused)
    if (problem === undefined && blockedApps.has(file.appId)) continue
    try {
      if (problem === undefined || (await isImport(context, file))) outcome.imported += await importFile(context, file)
      else outcome.mails.push(...(await refuse(context, file, problem)))
    } catch (error) {
      if (context.shutdown?.aborted) break
      context.log.warn({ ...logFields(file), err: error }, 'file in the bucket not imported')
      if (problem !== undefined) continue
      blockedApps.add(file.appId)
      // Full storage, a lock of another process and too many waiting imports are not the file's fault, so they do not
      // count as its failures.
      const isOutage =
        [StorageFull, TooManyWaiting].some((each) => error instanceof each) ||
        isOutOfRoom(error) ||
        hasOutsideCause(error)
      if (!isOutage) await noteFailure(context.db, file)
    }
  }
  return outcome
}

/**
 * Describes a file in the log without its name. The name may contain a user ID, which must not outlast the user's
 * deletion.
 */
export function logFields({ appId, byteSize, modifiedAt }: UnannouncedFile) {
  return { app_id: appId, byte_size: byteSize, modified_at: modifiedAt }
}

/** Why a file cannot become an import. The file's retention time counts from `since`. */
interface Problem {
  text: string
  since: Date
}

/** Returns why a file cannot become an import, or undefined if it can. */
export function problemOf({ fileName, byteSize, hash, modifiedAt }: UnannouncedFile, refused: Map<string, Date>) {
  const rule = fileNameProblem(fileName) ?? fileSizeProblem(byteSize)
  if (rule !== undefined) return { text: rule, since: modifiedAt }
  const refusedAt = refused.get(hash.toString('hex'))
  return refusedAt && { text: unreadableProblem, since: refusedAt }
}

/**
 * Copies a file to a key of its own, queues its import, and removes it from the path. Without the copy, a later file
 * with the same name would overwrite the file.
 *
 * Returns the number of new imports: 0 if the file was imported before, was replaced, or is gone.
 */
async function importFile(context: MaintenanceContext, file: UnannouncedFile): Promise<number> {
  let imported = 0
  if (!(await isImport(context, file))) {
    const { log } = context
    const upload = await beginUpload(context, file.appId, file.fileName, file.modifiedAt)
    if (!(await copyTo(context, file, upload))) return 0
    const finishing = () => finishUpload(context, upload, { kind: 'object', hash: file.hash })
    const finished = await unlessBroken(context, upload, finishing)
    // Meanwhile, the copy may have been removed as an abandoned upload, or another process may have refused the file.
    if (!(await isImport(context, file))) throw new Error(`upload ${upload.importId} has not become an import`)
    if (finished?.isNew === true) {
      log.info(
        { app_id: file.appId, import_id: upload.importId, byte_size: file.byteSize },
        'unannounced file queued as an import',
      )
      imported = 1
    }
  }
  await removeImported(context, file)
  return imported
}

/** Copies a file to the key of an upload. Returns false if the file is gone or was replaced since it was listed. */
async function copyTo(context: MaintenanceContext, file: UnannouncedFile, upload: BucketUpload): Promise<boolean> {
  try {
    await unlessBroken(context, upload, () => context.storage.copy(file.key, file.etag, upload.objectKey))
    return true
  } catch (error) {
    if (error instanceof ObjectGone || error instanceof ObjectReplaced) return false
    throw error
  }
}

/** Sends one mail about a refused file, and removes the file after its retention time. Returns the new mails. */
async function refuse(context: MaintenanceContext, file: UnannouncedFile, { text, since }: Problem): Promise<MailId[]> {
  const { db, log, settings } = context
  const days = settings.FILE_RETENTION_DAYS
  const event = `file:${file.hash.toString('hex')}`
  const isOver = () => isRetentionOver(db, file, since, days)
  const forget = () => forgetMailContents(db, file.appId, sql`m.event = ${event}`, context.shutdown)
  if (await isOver()) {
    await removeUnlessReplaced(context, file)
    await forget()
    return []
  }
  const mails = await db.transaction().execute(async (tx) => {
    if (!(await noteMail(tx, file))) return []
    const app = await tx.selectFrom('apps').select('name').where('app_id', '=', file.appId).executeTakeFirstOrThrow()
    const about = { appName: app.name, fileName: file.fileName, problem: text, removedAfterDays: days }
    log.info({ app_id: file.appId, problem: text }, 'file in the bucket refused')
    return await enqueueMails(tx, file.appId, event, refusedFileNotification(about))
  })
  // A deletion that completed meanwhile did not see these mails.
  if (mails.length > 0 && (await isOver())) await forget()
  return mails
}

/** Whether a refused file is due for removal: after its retention time, or after a deletion that it may precede. */
async function isRetentionOver(db: Database, file: UnannouncedFile, since: Date, days: number): Promise<boolean> {
  const { rows } = await sql<{ is_over: boolean }>`
    select ${since}::timestamptz < now() - make_interval(days => ${days}::integer)
      or ${precedesDeletion(file.appId, file.modifiedAt)} as is_over
  `.execute(db)
  return rows[0]?.is_over === true
}

async function isImport({ db }: MaintenanceContext, { appId, hash }: UnannouncedFile): Promise<boolean> {
  const row = await db
    .selectFrom('imports')
    .select('import_id')
    .where('app_id', '=', appId)
    .where('upload_hash', '=', hash)
    .executeTakeFirst()
  return row !== undefined
}

/** Removes an imported file from its path. If that fails, no other file waits: the next run tries again. */
async function removeImported(context: MaintenanceContext, file: UnannouncedFile): Promise<void> {
  try {
    await removeUnlessReplaced(context, file)
  } catch (error) {
    context.log.warn({ ...logFields(file), err: error }, 'imported file not removed from its path')
  }
}

/**
 * Removes a file from its path, unless another object has replaced it.
 *
 * A file that replaces it between the check and the removal is lost: not every storage supports conditional deletions.
 */
export async function removeUnlessReplaced(
  { storage }: Pick<MaintenanceContext, 'storage'>,
  file: UnannouncedFile,
): Promise<void> {
  const now = await storage.stat(file.key)
  if (now?.etag === file.etag && sameSecond(now.modifiedAt, file.modifiedAt)) await storage.remove(file.key)
}

/** Some storages return milliseconds in listings, but headers have whole seconds. */
function sameSecond(left: Date, right: Date): boolean {
  return Math.floor(left.getTime() / 1000) === Math.floor(right.getTime() / 1000)
}
