import { type RawBuilder, sql } from '@sluice/database'
import { importPrefix } from '@sluice/imports'
import type { MaintenanceContext } from './context.ts'
import { forgetRow, uploadsWhere } from './uploads.ts'

/** The services that the removal of uploads uses. */
export type RemovalContext = Pick<MaintenanceContext, 'db' | 'storage' | 'log' | 'shutdown'>

/** An upload that is incomplete after this many days counts as abandoned. */
const abandonedAfterDays = 2

/**
 * Hours after which an unfinished upload counts as abandoned, if a deletion has completed since the upload was sent.
 */
const hoursAfterDeletion = 1

/** The number of uploads that are read from the table at a time. */
const batchSize = 100

const isOld = sql<boolean>`started_at < now() - make_interval(days => ${abandonedAfterDays})`

/** A deletion has completed since the upload was sent, so the upload may name deleted users. */
const isBeforeDeletion = sql<boolean>`(
  started_at < now() - make_interval(hours => ${hoursAfterDeletion}) and exists (
    select from recently_deleted_users d where d.app_id = bucket_uploads.app_id and d.data_order > bucket_uploads.data_order
  )
)`

/**
 * Removes abandoned uploads, with everything that storage has of them.
 *
 * Several processes may run it at once. Stops before the next upload if the process shuts down. Returns how many
 * uploads this call has removed.
 */
export async function removeAbandonedUploads(context: RemovalContext): Promise<number> {
  return (await removeUploads(context, sql<boolean>`(${isOld} or ${isBeforeDeletion})`)).removed
}

/**
 * Removes an app's uploads that were sent before a completed deletion and have had an hour to become imports.
 *
 * Returns the number of uploads that could not be removed. Throws the reason of the `shutdown` signal if the process
 * shuts down.
 */
export async function removeUploadsBeforeDeletion(context: RemovalContext, appId: number): Promise<number> {
  const ofApp = sql<boolean>`app_id = ${appId} and ${isBeforeDeletion}`
  for (;;) {
    const { found, failed } = await removeUploads(context, ofApp)
    context.shutdown?.throwIfAborted()
    if (failed > 0 || found < batchSize) return failed
  }
}

/** An upload that another call has ended meanwhile counts as found only. */
async function removeUploads(
  { db, storage, log, shutdown }: RemovalContext,
  condition: RawBuilder<boolean>,
): Promise<{ found: number; removed: number; failed: number }> {
  const uploads = await uploadsWhere(db, condition, batchSize)
  const counts = { found: uploads.length, removed: 0, failed: 0 }
  for (const upload of uploads) {
    if (shutdown?.aborted) break
    try {
      if (!(await forgetRow(db, upload))) continue
      await storage.removeAll(importPrefix(upload.appId, upload.importId))
      counts.removed += 1
    } catch (error) {
      counts.failed += 1
      log.warn({ app_id: upload.appId, import_id: upload.importId, err: error }, 'abandoned upload not removed')
    }
  }
  return counts
}
