import { importPrefix } from '@sluice/imports'
import type { UpkeepContext } from './context.ts'
import { forgetWith, oldUploads } from './uploads.ts'

/** An upload that was begun so many days ago and is not complete will never be. */
const abandonedAfterDays = 2

/** Uploads taken from the table at a time. */
const passSize = 100

/**
 * Removes the uploads that were begun and never completed, with whatever storage has of them. Safe to run in several
 * processes at once. Stops before the next upload when the process shuts down. Returns how many it removed.
 */
export async function removeAbandonedUploads({ db, storage, log, shutdown }: UpkeepContext): Promise<number> {
  let removed = 0
  for (const upload of await oldUploads(db, abandonedAfterDays, passSize)) {
    if (shutdown?.aborted) break
    try {
      await forgetWith(db, upload, () => storage.removeAll(importPrefix(upload.appId, upload.importId)))
      removed += 1
    } catch (error) {
      log.warn({ app_id: upload.appId, import_id: upload.importId, err: error }, 'abandoned upload not removed')
    }
  }
  return removed
}
