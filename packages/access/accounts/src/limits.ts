import type { Database } from '@sluice/database'
import { changeApp } from './app.ts'

/** Limits of one app. An undefined limit stays as it is. Null removes the app's limit, so that the setting applies. */
export interface AppLimits {
  /** Limit of first requests of bulk import v3, such as `100/10m`. The caller has checked the format. */
  bulkImport?: string | null | undefined
  /** Maximum number of profile keys. */
  profileKeys?: number | null | undefined
}

/**
 * Sets limits of an app (second-day.md §6, Limits). They apply to the next request in every process. Returns whether
 * they differ from before. Throws `UnknownApp`.
 */
export async function setAppLimits(db: Database, appId: number, limits: AppLimits): Promise<boolean> {
  return await changeApp(db, appId, {
    ...(limits.bulkImport !== undefined && { bulk_import_limit: limits.bulkImport }),
    ...(limits.profileKeys !== undefined && { profile_key_limit: limits.profileKeys }),
  })
}
