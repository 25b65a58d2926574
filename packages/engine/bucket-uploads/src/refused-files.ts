import { sql } from '@sluice/database'
import { forgetMailContents } from '@sluice/mail'
import type { MaintenanceContext } from './context.ts'
import { listFiles } from './find-unannounced-files.ts'
import { pathOf } from './path.ts'
import { refusedFiles } from './unannounced-failures.ts'
import { logFields, problemOf, removeUnlessReplaced } from './unannounced-files.ts'

/**
 * Removes an app's refused files and its folders, whatever their age, and the contents of the mails about refused
 * files, because a deletion completes: names and files may hold data of deleted users. A file that may still become an
 * import stays: its import leaves the deleted users out, and its files are removed when it ends.
 *
 * Returns the number of files that could not be removed. Throws when the process shuts down.
 */
export async function removeRefusedFiles(
  context: Pick<MaintenanceContext, 'db' | 'storage' | 'log' | 'shutdown'>,
  appId: number,
): Promise<number> {
  const { db, log, shutdown } = context
  const files = await listFiles(context, pathOf(appId))
  const refused = await refusedFiles(db, files, appId)
  let failures = 0
  for (const file of files) {
    shutdown?.throwIfAborted()
    const isOwnFolder = file.key === pathOf(appId) && file.byteSize === 0
    if (isOwnFolder || problemOf(file, refused) === undefined) continue
    try {
      await removeUnlessReplaced(context, file)
    } catch (error) {
      failures += 1
      log.warn({ ...logFields(file), err: error }, 'refused file not removed')
    }
  }
  // Also of files that their owner has removed, so that no run of maintenance finds them any more.
  await forgetMailContents(db, appId, sql`starts_with(m.event, 'file:')`, shutdown)
  return failures
}
