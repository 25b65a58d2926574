import { sql } from '@sluice/database'
import type { ListedObject } from '@sluice/storage'
import type { MaintenanceContext } from './context.ts'
import { parseKey, uploadsPrefix } from './path.ts'
import { hashOfObject } from './upload-hash.ts'

/** A file that somebody put straight into the bucket, without the S3 gateway. */
export interface UnannouncedFile extends ListedObject {
  appId: number
  fileName: string
  /** A hash of the object's key, ETag and time. */
  hash: Buffer
}

/** The files in the paths of apps, oldest first. */
export interface FoundFiles {
  all: UnannouncedFile[]
  /** The files of `all` that may be imported now: no older file of the same app can be missing from `all`. */
  importable: UnannouncedFile[]
}

/**
 * Finds the files in the paths of apps.
 *
 * A listing has several pages. An older file may appear on an earlier page after that page was read, and is then
 * missed. The bucket is therefore listed twice: the second listing has every file that is older than a file of the
 * first listing. An app's files are importable up to the last file that both listings show. Later files wait for the
 * next run.
 */
export async function findUnannouncedFiles(context: MaintenanceContext): Promise<FoundFiles> {
  const first = await listNonFolders(context)
  if (first.length === 0) return { all: [], importable: [] }
  const seen = new Set(first.map(nameOf))
  const all = await ofKnownApps(context, await listNonFolders(context))
  all.sort((left, right) => left.modifiedAt.getTime() - right.modifiedAt.getTime())
  const lastSeen = new Map<number, UnannouncedFile>()
  for (const file of all) if (seen.has(nameOf(file))) lastSeen.set(file.appId, file)
  const open = new Set(lastSeen.keys())
  const importable = all.filter((file) => {
    if (!open.has(file.appId)) return false
    if (lastSeen.get(file.appId) === file) open.delete(file.appId)
    return true
  })
  return { all, importable }
}

function nameOf({ hash }: UnannouncedFile): string {
  return hash.toString('hex')
}

async function listNonFolders(context: MaintenanceContext): Promise<UnannouncedFile[]> {
  // Tools that show folders mark a folder with an empty object.
  return (await listFiles(context, uploadsPrefix)).filter(({ key, byteSize }) => !key.endsWith('/') || byteSize > 0)
}

/** Lists the objects below a prefix that are in the path of an app, folders included. */
export async function listFiles(
  { storage, shutdown }: Pick<MaintenanceContext, 'storage' | 'shutdown'>,
  prefix: string,
): Promise<UnannouncedFile[]> {
  const files: UnannouncedFile[] = []
  for await (const page of storage.list(prefix)) {
    shutdown?.throwIfAborted()
    for (const object of page) {
      const key = parseKey(object.key)
      if (key !== undefined) files.push({ ...object, ...key, hash: hashOfObject(object) })
    }
  }
  return files
}

async function ofKnownApps({ db, log }: MaintenanceContext, files: UnannouncedFile[]): Promise<UnannouncedFile[]> {
  if (files.length === 0) return []
  const appIds = [...new Set(files.map(({ appId }) => appId))]
  const apps = await db
    .selectFrom('apps')
    .select('app_id')
    .where(sql<boolean>`app_id = any(${appIds}::integer[])`)
    .execute()
  const known = new Set(apps.map((app) => app.app_id))
  const unknown = appIds.filter((appId) => !known.has(appId))
  if (unknown.length > 0) log.info({ app_ids: unknown }, 'files in the bucket are in paths of apps that do not exist')
  return files.filter(({ appId }) => known.has(appId))
}
