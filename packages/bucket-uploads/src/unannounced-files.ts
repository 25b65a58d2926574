import { hasOutsideCause, isOutOfRoom } from '@sluice/database'
import { TooManyWaiting } from '@sluice/imports'
import { enqueueMails, type MailId, refusedFileNotification } from '@sluice/mail'
import { ObjectGone, ObjectReplaced, StorageFull, StorageRefusal } from '@sluice/storage'
import type { MaintenanceContext } from './context.ts'
import { findUnannouncedFiles, type UnannouncedFile } from './find-unannounced-files.ts'
import { fileNameProblem, fileSizeProblem } from './path.ts'
import { noteFailure, refusedFiles, unreadableProblem } from './unannounced-failures.ts'
import { beginUpload, finishUpload, forgetUpload, type Upload } from './uploads.ts'

/** What came of a run: the number of new imports, and the new mails. */
interface Outcome {
  taken: number
  mails: MailId[]
}

/**
 * Takes on the files that were put straight into an app's path in the bucket: each becomes an import, oldest first, and
 * leaves the path. One that is refused stays for `FILE_RETENTION_DAYS`, and a mail says why it is no import.
 *
 * If a file cannot be taken on, later files of its app wait for the next run, until the file is refused. Any number of
 * processes may run this at once, and die in the middle: an object is known by its key, ETag and time, and never becomes
 * two imports. Ends before the next file when the process shuts down.
 */
export async function importUnannouncedFiles(context: MaintenanceContext): Promise<Outcome> {
  const { all, settled } = await findUnannouncedFiles(context)
  const refused = await refusedFiles(context.db, all)
  const outcome: Outcome = { taken: 0, mails: [] }
  const heldUp = new Set<number>()
  for (const file of settled) {
    if (context.shutdown?.aborted) break
    const problem = problemOf(file, refused)
    if (problem === undefined && heldUp.has(file.appId)) continue
    try {
      if (problem === undefined || (await isImport(context, file))) outcome.taken += await takeOn(context, file)
      else outcome.mails.push(...(await refuse(context, file, problem)))
    } catch (error) {
      if (context.shutdown?.aborted) break
      context.log.warn({ ...named(file), err: error }, 'file in the bucket not taken on')
      if (problem !== undefined) continue
      heldUp.add(file.appId)
      // Neither a lack of room, nor somebody else's lock, nor how many imports wait is the file's fault.
      const isOutage =
        [StorageFull, TooManyWaiting].some((each) => error instanceof each) ||
        isOutOfRoom(error) ||
        hasOutsideCause(error)
      if (!isOutage) await noteFailure(context.db, file)
    }
  }
  return outcome
}

/** Names a file in the log without its name, which may hold a user's ID that is deleted some day. */
function named({ appId, byteSize, modifiedAt }: UnannouncedFile) {
  return { app_id: appId, byte_size: byteSize, modified_at: modifiedAt }
}

/** Why a file is no import, and since when that is known. */
interface Problem {
  text: string
  since: Date
}

function problemOf({ fileName, byteSize, hash, modifiedAt }: UnannouncedFile, refused: Map<string, Date>) {
  const rule = fileNameProblem(fileName) ?? fileSizeProblem(byteSize)
  if (rule !== undefined) return { text: rule, since: modifiedAt }
  const refusedAt = refused.get(hash.toString('hex'))
  return refusedAt && { text: unreadableProblem, since: refusedAt }
}

/**
 * Copies the file to a place of its own, since a later one of its name would take its place in the path; then makes it an
 * import and takes it out of the path. Returns 1, or 0 if it was an import before, was replaced, or is gone.
 */
async function takeOn(context: MaintenanceContext, file: UnannouncedFile): Promise<number> {
  let taken = 0
  if (!(await isImport(context, file))) {
    const { log } = context
    const upload = await beginUpload(context, file.appId, file.fileName, file.modifiedAt)
    if (!(await copyTo(context, file, upload))) return 0
    const finished = await finishUpload(context, upload, { kind: 'object', hash: file.hash })
    // The copy may have been swept as an abandoned upload, and another process may have refused the file meanwhile.
    if (!(await isImport(context, file))) throw new Error(`upload ${upload.importId} has not become an import`)
    if (finished?.isNew === true) {
      log.info({ app_id: file.appId, import_id: upload.importId, byte_size: file.byteSize }, 'file taken on')
      taken = 1
    }
  }
  await removeImported(context, file)
  return taken
}

/** Returns false if the file is no longer the one that was listed; what was begun for it is forgotten then. */
async function copyTo(context: MaintenanceContext, file: UnannouncedFile, upload: Upload): Promise<boolean> {
  try {
    await context.relay.copy(file.key, file.etag, upload.objectKey)
    return true
  } catch (error) {
    const isOther = error instanceof ObjectGone || error instanceof ObjectReplaced
    const isAnswer = isOther || error instanceof StorageFull || error instanceof StorageRefusal
    // Without storage's answer, the copy may still come: the row stays, so that its key is known and the copy is swept.
    if (isAnswer) await forgetUpload(context, upload)
    else if (!context.shutdown?.aborted) await context.relay.remove(upload.objectKey).catch(() => undefined)
    if (isOther) return false
    throw error
  }
}

/** Tells of the file once, and removes it when its time has come. Returns the new mails. */
async function refuse(context: MaintenanceContext, file: UnannouncedFile, { text, since }: Problem): Promise<MailId[]> {
  const { db, log, settings } = context
  const days = settings.FILE_RETENTION_DAYS
  if (Date.now() - since.getTime() > days * 24 * 60 * 60_000) {
    await removeUnlessReplaced(context, file)
    return []
  }
  const event = `file:${file.hash.toString('hex')}`
  const told = await db
    .selectFrom('mails')
    .select('event')
    .where('app_id', '=', file.appId)
    .where('event', '=', event)
    .executeTakeFirst()
  if (told !== undefined) return []
  const app = await db.selectFrom('apps').select('name').where('app_id', '=', file.appId).executeTakeFirstOrThrow()
  const about = { appName: app.name, fileName: file.fileName, problem: text, removedAfterDays: days }
  log.info({ app_id: file.appId, problem: text }, 'file in the bucket refused')
  return await enqueueMails(db, file.appId, event, refusedFileNotification(about))
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

/** Takes a file that is an import out of the path. The next run tries again if storage does not: no other file waits. */
async function removeImported(context: MaintenanceContext, file: UnannouncedFile): Promise<void> {
  try {
    await removeUnlessReplaced(context, file)
  } catch (error) {
    context.log.warn({ ...named(file), err: error }, 'imported file not removed from its path')
  }
}

/** S3 has no removal of one version of a key that every storage knows: a file that comes this very moment would be lost. */
async function removeUnlessReplaced({ relay }: MaintenanceContext, file: UnannouncedFile): Promise<void> {
  const now = await relay.describe(file.key)
  if (now?.etag === file.etag && sameSecond(now.modifiedAt, file.modifiedAt)) await relay.remove(file.key)
}

/** Listings tell the time to the millisecond on some storages, headers to the second. */
function sameSecond(left: Date, right: Date): boolean {
  return Math.floor(left.getTime() / 1000) === Math.floor(right.getTime() / 1000)
}
