import { type RawBuilder, sql } from '@sluice/database'
import { importPrefix } from '@sluice/imports'
import type { MaintenanceContext } from './context.ts'
import { forgetWith, uploadsWhere } from './uploads.ts'

/** What removing uploads needs. */
export type RemovalContext = Pick<MaintenanceContext, 'db' | 'storage' | 'log' | 'shutdown'>

/** An upload that was begun so many days ago and is not complete will never be. */
const abandonedAfterDays = 2

/** A deletion completed since an upload was sent: then it has so many hours to become an import. */
const hoursAfterDeletion = 1

/** Uploads taken from the table at a time. */
const passSize = 100

const isOld = sql<boolean>`started_at < now() - make_interval(days => ${abandonedAfterDays})`

/** It may name users who were deleted since. */
const isBeforeDeletion = sql<boolean>`(
  started_at < now() - make_interval(hours => ${hoursAfterDeletion}) and exists (
    select from recently_deleted_users d where d.app_id = bucket_uploads.app_id and d.deleted_at > bucket_uploads.sent_at
  )
)`

/**
 * Removes the uploads that were begun and never completed, with whatever storage has of them. Safe to run in several
 * processes at once. Stops before the next upload when the process shuts down. Returns how many it removed.
 */
export async function removeAbandonedUploads(context: RemovalContext): Promise<number> {
  return (await removeUploads(context, sql<boolean>`(${isOld} or ${isBeforeDeletion})`)).removed
}

/**
 * Removes an app's uploads that have not become imports since a deletion completed, though they had an hour for it. Returns how
 * many could not be removed. Throws when the process shuts down.
 */
export async function removeUploadsBeforeDeletion(context: RemovalContext, appId: number): Promise<number> {
  const ofApp = sql<boolean>`app_id = ${appId} and ${isBeforeDeletion}`
  for (;;) {
    const { removed, failed } = await removeUploads(context, ofApp)
    context.shutdown?.throwIfAborted()
    if (failed > 0 || removed < passSize) return failed
  }
}

async function removeUploads(
  { db, storage, log, shutdown }: RemovalContext,
  condition: RawBuilder<boolean>,
): Promise<{ removed: number; failed: number }> {
  const pass = { removed: 0, failed: 0 }
  for (const upload of await uploadsWhere(db, condition, passSize)) {
    if (shutdown?.aborted) break
    try {
      await forgetWith(db, upload, () => storage.removeAll(importPrefix(upload.appId, upload.importId)))
      pass.removed += 1
    } catch (error) {
      pass.failed += 1
      log.warn({ app_id: upload.appId, import_id: upload.importId, err: error }, 'abandoned upload not removed')
    }
  }
  return pass
}
