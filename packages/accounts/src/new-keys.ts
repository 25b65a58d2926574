import type { NewKeys } from '@sluice/contract'
import type { Database } from '@sluice/database'
import { UnknownApp } from './app.ts'

/**
 * Returns what imports of an app do with columns that are neither registered nor declared, unless their request says
 * otherwise. Throws `UnknownApp`.
 */
export async function newKeysOf(db: Database, appId: number): Promise<NewKeys> {
  const app = await db.selectFrom('apps').select('new_keys').where('app_id', '=', appId).executeTakeFirst()
  if (app === undefined) throw new UnknownApp(appId)
  return app.new_keys
}

/** Sets what {@link newKeysOf} returns, for imports that are requested from now on. Throws `UnknownApp`. */
export async function setNewKeys(db: Database, appId: number, newKeys: NewKeys): Promise<void> {
  const set = await db.updateTable('apps').set({ new_keys: newKeys }).where('app_id', '=', appId).executeTakeFirst()
  if (set.numUpdatedRows === 0n) throw new UnknownApp(appId)
}
