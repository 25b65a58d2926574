import type { Database } from '@sluice/database'
import { UnknownApp } from './app.ts'

/** Limits of one app. An undefined limit stays as it is. Null removes the app's limit, so that the setting applies. */
export interface AppLimits {
  /** Limit of first requests of bulk import v3, such as `100/10m`. The caller has checked the format. */
  bulkImport?: string | null | undefined
  /** Maximum number of profile keys. */
  profileKeys?: number | null | undefined
}

/** Sets limits of an app. They apply to the next request in every process. Throws {@link UnknownApp}. */
export async function setAppLimits(db: Database, appId: number, limits: AppLimits): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('apps')
    .set({
      bulk_import_limit: limits.bulkImport === undefined ? ({ ref }) => ref('bulk_import_limit') : limits.bulkImport,
      profile_key_limit: limits.profileKeys === undefined ? ({ ref }) => ref('profile_key_limit') : limits.profileKeys,
    })
    .where('app_id', '=', appId)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new UnknownApp(appId)
}
