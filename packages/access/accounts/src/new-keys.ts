import type { NewKeys } from '@sluice/contract'
import type { Database } from '@sluice/database'
import { changeApp, UnknownApp } from './app.ts'

/**
 * Returns what imports of an app do with columns that are neither registered nor declared, unless their request says
 * otherwise (second-day.md §1, New keys). Throws `UnknownApp`.
 */
export async function newKeysOf(db: Database, appId: number): Promise<NewKeys> {
  const app = await db.selectFrom('apps').select('new_keys').where('app_id', '=', appId).executeTakeFirst()
  if (app === undefined) throw new UnknownApp(appId)
  return app.new_keys
}

/**
 * Sets what {@link newKeysOf} returns, for imports that are requested from now on. Returns whether it differs from
 * before. Throws `UnknownApp`.
 */
export async function setNewKeys(db: Database, appId: number, newKeys: NewKeys): Promise<boolean> {
  return await changeApp(db, appId, { new_keys: newKeys })
}
