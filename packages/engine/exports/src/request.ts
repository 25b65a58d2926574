import type { Database } from '@sluice/database'
import { registeredKeys } from '@sluice/profiles'

/**
 * Queues an export of an app's profiles (second-day.md §3, Exports). Accepts the keys to export in order; undefined for
 * all enabled keys, sorted by name. Runs `alsoCommit` in the transaction that inserts the export.
 *
 * Returns the export's ID, or the keys that are not registered, or the disabled keys.
 */
export async function requestExport(
  db: Database,
  appId: number,
  keys: readonly string[] | undefined,
  alsoCommit: (tx: Database, exportId: string) => Promise<void> | undefined = () => undefined,
): Promise<{ exportId: string } | { unregistered: string[] } | { disabled: string[] }> {
  if (keys !== undefined) {
    const registered = await registeredKeys(db, appId)
    const unregistered = keys.filter((key) => !registered.has(key))
    if (unregistered.length > 0) return { unregistered }
    const disabled = keys.filter((key) => registered.get(key)?.enabled === false)
    if (disabled.length > 0) return { disabled }
  }
  return await db.transaction().execute(async (tx) => {
    const { export_id: exportId } = await tx
      .insertInto('exports')
      .values({ app_id: appId, keys: keys === undefined ? null : [...keys] })
      .returning('export_id')
      .executeTakeFirstOrThrow()
    await alsoCommit(tx, exportId)
    return { exportId }
  })
}
