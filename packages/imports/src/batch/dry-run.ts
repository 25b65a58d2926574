import type { ValueType } from '@sluice/contract'
import { type Database, encodeTextArray, type RawBuilder, sql } from '@sluice/database'
import { keyRegistry, requireRoom } from '@sluice/profiles'
import type { Columns, ProfileColumn } from '../file/columns.ts'

/**
 * Checks for a dry run whether keys could be registered, and registers none.
 *
 * `wanted` has the type of each key that this batch would register. `defaultLimit` is the limit of keys for an app
 * without one of its own. Keys that earlier batches would have registered count, whichever worker committed them.
 * Returns the type that each wanted key would have. Throws `KeyLimitExceeded`.
 */
export async function previewKeys(
  tx: Database,
  appId: number,
  columns: Columns,
  wanted: ReadonlyMap<string, ValueType>,
  defaultLimit: number,
): Promise<Map<string, ValueType>> {
  const { types: registered, limit } = await keyRegistry(tx, appId, defaultLimit)
  const added = columns.profiles.filter(
    (column) => !registered.has(column.key) && (column.registered || wanted.has(column.key)),
  )
  requireRoom(registered.size + added.length, limit)
  return new Map([...wanted].map(([key, type]) => [key, registered.get(key) ?? type]))
}

/**
 * Returns the values for the import's row that add the keys which this batch would register. The keys commit with the
 * batch, so that the next worker counts them as well.
 */
export function previewed(columns: readonly ProfileColumn[]): { previewed_keys?: RawBuilder<string[]> } {
  if (columns.length === 0) return {}
  const keys = encodeTextArray(columns.map(({ key }) => key))
  return { previewed_keys: sql<string[]>`previewed_keys || ${keys}::text[]` }
}

/**
 * Adds the keys that committed batches of a dry run would have registered to the registered keys.
 *
 * The types that these batches settled take precedence. Had the batches registered the keys, no other request could
 * have registered them with other types.
 */
export function withPreviewed(
  registered: ReadonlyMap<string, ValueType>,
  previewedKeys: readonly string[],
  settled: Readonly<Record<string, ValueType>>,
): Map<string, ValueType> {
  const previewedTypes = previewedKeys.flatMap((key) => {
    const type = Object.hasOwn(settled, key) ? settled[key] : undefined
    return type === undefined ? [] : [[key, type] as const]
  })
  return new Map([...registered, ...previewedTypes])
}
