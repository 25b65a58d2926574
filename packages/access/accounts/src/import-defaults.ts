import type { HoldIf, NewKeys } from '@sluice/contract'
import type { Database } from '@sluice/database'
import { changeApp, UnknownApp } from './app.ts'

/** What imports of an app do unless their request says otherwise. */
export interface ImportDefaults {
  /** What happens to columns that are neither registered nor declared (second-day.md §1, New keys). */
  new_keys: NewKeys
  /** What the rows change is kept (changes.md §1, Asking for it). */
  keep_changes: boolean
  /** When an import is held for approval (changes.md §2, Asking for it). */
  hold_if: HoldIf
}

/** Returns the defaults of an app's imports. Throws `UnknownApp`. */
export async function importDefaults(db: Database, appId: number): Promise<ImportDefaults> {
  const app = await db
    .selectFrom('apps')
    .select(['new_keys', 'keep_changes', 'hold_if'])
    .where('app_id', '=', appId)
    .executeTakeFirst()
  if (app === undefined) throw new UnknownApp(appId)
  return app
}

/**
 * Sets defaults of an app's imports, for imports that are requested from now on. Returns whether one differs from
 * before. Throws `UnknownApp`.
 */
export async function setImportDefaults(
  db: Database,
  appId: number,
  defaults: Partial<ImportDefaults>,
): Promise<boolean> {
  const { hold_if: holdIf, ...others } = defaults
  return await changeApp(db, appId, {
    ...others,
    ...(holdIf !== undefined && { hold_if: JSON.stringify(holdIf) }),
  })
}
