import { sql } from '@sluice/database'
import type { ListedObject } from '@sluice/storage'
import type { MaintenanceContext } from './context.ts'
import { parseKey, uploadsPrefix } from './path.ts'
import { hashOfObject } from './upload-hash.ts'

/** A file that came past the S3 gateway, straight into the bucket. */
export interface UnannouncedFile extends ListedObject {
  appId: number
  fileName: string
  /** Of the object: its key, ETag and time. */
  hash: Buffer
}

/** The files in the paths of apps, oldest first. */
export interface FoundFiles {
  all: UnannouncedFile[]
  /** Those of `all` that no unseen file precedes in the order of its app. */
  settled: UnannouncedFile[]
}

/**
 * Finds the files in the paths of apps.
 *
 * A listing of several pages may show a file on a late page and miss an older one that came to an earlier page meanwhile.
 * The bucket is therefore listed twice. Every file older than one that the first listing shows is in the second listing. So
 * an app's files are settled up to the last one that both listings show; later ones wait for the next run.
 */
export async function findUnannouncedFiles(context: MaintenanceContext): Promise<FoundFiles> {
  const first = await listFiles(context)
  if (first.length === 0) return { all: [], settled: [] }
  const seen = new Set(first.map(nameOf))
  const all = await ofKnownApps(context, await listFiles(context))
  all.sort((left, right) => left.modifiedAt.getTime() - right.modifiedAt.getTime())
  const lastSeen = new Map<number, UnannouncedFile>()
  for (const file of all) if (seen.has(nameOf(file))) lastSeen.set(file.appId, file)
  const open = new Set(lastSeen.keys())
  const settled = all.filter((file) => {
    if (!open.has(file.appId)) return false
    if (lastSeen.get(file.appId) === file) open.delete(file.appId)
    return true
  })
  return { all, settled }
}

function nameOf({ hash }: UnannouncedFile): string {
  return hash.toString('hex')
}

async function listFiles({ relay, shutdown }: MaintenanceContext): Promise<UnannouncedFile[]> {
  const files: UnannouncedFile[] = []
  for await (const page of relay.list(uploadsPrefix)) {
    shutdown?.throwIfAborted()
    for (const object of page) {
      // Storage's own tools mark a folder with an empty object.
      if (object.key.endsWith('/') && object.byteSize === 0) continue
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
  const lost = appIds.filter((appId) => !known.has(appId))
  if (lost.length > 0) log.info({ app_ids: lost }, 'files in the bucket lie in paths of no app')
  return files.filter(({ appId }) => known.has(appId))
}
