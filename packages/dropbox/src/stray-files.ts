import { createHash } from 'node:crypto'
import { enqueueMails, type MailId, refusedFileNotification } from '@sluice/mail'
import { type ListedObject, ObjectGone, ObjectReplaced } from '@sluice/storage'
import type { UpkeepContext } from './context.ts'
import { dropboxPrefix, fileNameProblem, fileSizeProblem, parseKey } from './path.ts'
import { beginUpload, finishUpload, forgetUpload } from './uploads.ts'

/** A file that came past the dropbox, straight into the bucket. */
interface StrayFile extends ListedObject {
  appId: number
  fileName: string
}

/**
 * Takes on the files that were put straight into an app's path in the bucket: each becomes an import, oldest first, and
 * leaves the path. One that breaks the rules stays for `FILE_RETENTION_DAYS`, and a mail says why it is no import.
 *
 * Any number of processes may run this at once, and die in the middle: an object is known by its key, ETag and time, and
 * never becomes two imports. Gives the number of new imports, and the new mails.
 */
export async function takeStrayFiles(context: UpkeepContext): Promise<{ taken: number; mails: MailId[] }> {
  const files = await findStrayFiles(context)
  const outcome = { taken: 0, mails: [] as MailId[] }
  for (const file of files) {
    try {
      const problem = fileNameProblem(file.fileName) ?? fileSizeProblem(file.byteSize)
      if (problem === undefined) outcome.taken += await takeOn(context, file)
      else outcome.mails.push(...(await refuse(context, file, problem)))
    } catch (error) {
      // One file that storage does not let go holds up no other.
      context.log.warn({ app_id: file.appId, key: file.key, err: error }, 'file in the bucket not taken on')
    }
  }
  return outcome
}

/** The files in the paths of apps, oldest first. */
async function findStrayFiles({ db, relay, log }: UpkeepContext): Promise<StrayFile[]> {
  const files: StrayFile[] = []
  for await (const page of relay.list(dropboxPrefix)) {
    for (const object of page) {
      // Storage's own tools mark a folder with an empty object.
      if (object.key.endsWith('/') && object.byteSize === 0) continue
      const key = parseKey(object.key)
      if (key !== undefined) files.push({ ...object, ...key })
    }
  }
  if (files.length === 0) return []
  const appIds = [...new Set(files.map(({ appId }) => appId))]
  const apps = await db.selectFrom('apps').select('app_id').where('app_id', 'in', appIds).execute()
  const known = new Set(apps.map((app) => app.app_id))
  const lost = appIds.filter((appId) => !known.has(appId))
  if (lost.length > 0) log.info({ app_ids: lost }, 'files in the bucket lie in paths of no app')
  return files
    .filter(({ appId }) => known.has(appId))
    .sort((left, right) => left.modifiedAt.getTime() - right.modifiedAt.getTime())
}

/**
 * Copies the file to a place of its own, since a later one of its name would take its place in the path; then makes it an
 * import and takes it out of the path. Gives 1, or 0 where it was one before or was replaced meanwhile.
 */
async function takeOn(context: UpkeepContext, file: StrayFile): Promise<number> {
  const uploadHash = hashOf(file)
  let taken = 0
  if (!(await isImport(context, file, uploadHash))) {
    const upload = await beginUpload(context.db, file.appId, file.fileName)
    try {
      await context.relay.copy(file.key, file.etag, upload.objectKey)
    } catch (error) {
      await forgetUpload(context, upload)
      if (error instanceof ObjectGone || error instanceof ObjectReplaced) return 0
      throw error
    }
    await finishUpload(context, upload, uploadHash)
    context.log.info({ app_id: file.appId, import_id: upload.importId, byte_size: file.byteSize }, 'file taken on')
    taken = 1
  }
  await removeUnlessReplaced(context, file)
  return taken
}

/** Tells of the file once, and removes it when its time has come. Gives the new mails. */
async function refuse(context: UpkeepContext, file: StrayFile, problem: string): Promise<MailId[]> {
  const { db, log, settings } = context
  const days = settings.FILE_RETENTION_DAYS
  if (Date.now() - file.modifiedAt.getTime() > days * 24 * 60 * 60_000) {
    await removeUnlessReplaced(context, file)
    return []
  }
  const event = `file:${hashOf(file).toString('hex')}`
  const told = await db
    .selectFrom('mails')
    .select('event')
    .where('app_id', '=', file.appId)
    .where('event', '=', event)
    .executeTakeFirst()
  if (told !== undefined) return []
  const app = await db.selectFrom('apps').select('name').where('app_id', '=', file.appId).executeTakeFirstOrThrow()
  const about = { appName: app.name, fileName: file.fileName, problem, removedAfterDays: days }
  log.info({ app_id: file.appId, problem }, 'file in the bucket refused')
  return await enqueueMails(db, file.appId, event, refusedFileNotification(about))
}

async function isImport({ db }: UpkeepContext, { appId }: StrayFile, uploadHash: Buffer): Promise<boolean> {
  const row = await db
    .selectFrom('imports')
    .select('import_id')
    .where('app_id', '=', appId)
    .where('upload_hash', '=', uploadHash)
    .executeTakeFirst()
  return row !== undefined
}

/** S3 has no removal of one version of a key that every storage knows: a file that comes this very moment would be lost. */
async function removeUnlessReplaced({ relay }: UpkeepContext, file: StrayFile): Promise<void> {
  const now = await relay.describe(file.key)
  if (now?.etag === file.etag && sameSecond(now.modifiedAt, file.modifiedAt)) await relay.remove(file.key)
}

/** Listings tell the time to the millisecond on some storages, headers to the second. */
function sameSecond(left: Date, right: Date): boolean {
  return Math.floor(left.getTime() / 1000) === Math.floor(right.getTime() / 1000)
}

function hashOf({ key, etag, modifiedAt }: ListedObject): Buffer {
  const second = Math.floor(modifiedAt.getTime() / 1000)
  return createHash('sha256')
    .update(JSON.stringify(['object', key, etag, second]))
    .digest()
}
