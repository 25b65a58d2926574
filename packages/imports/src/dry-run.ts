import type { ValueType } from '@sluice/contract'
import type { Database } from '@sluice/database'
import { registeredKeys, requireRoom } from '@sluice/profiles'
import type { Columns } from './columns.ts'

/**
 * Does for a dry run what registering keys does for an import, and registers none.
 *
 * Takes all columns of the file, the wanted type of each key that this batch would register, and how many keys the app may
 * have; keys that batches before would have registered count. Gives the type that each wanted key would have. Throws
 * `KeyLimitExceeded`.
 */
export async function previewKeys(
  tx: Database,
  appId: number,
  columns: Columns,
  wanted: ReadonlyMap<string, ValueType>,
  limit: number,
): Promise<Map<string, ValueType>> {
  const registered = await registeredKeys(tx, appId)
  const added = columns.profiles.filter(
    ({ key, registered: before }) => !registered.has(key) && (before || wanted.has(key)),
  )
  requireRoom(registered.size + added.length, limit)
  return new Map([...wanted].map(([key, type]) => [key, registered.get(key) ?? type]))
}
