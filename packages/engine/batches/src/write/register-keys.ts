import type { ValueType } from '@sluice/contract'
import type { Database } from '@sluice/database'
import { keyRegistry, registerKeys, requireRoom } from '@sluice/profiles'
import { otherTypes } from '../columns/check-columns.ts'
import type { ProfileColumn } from '../columns/columns.ts'
import type { BatchContext } from '../context.ts'

/**
 * Another transaction has registered keys of this batch with other types. The rows must be checked again with these
 * types.
 */
export class TypesChanged extends Error {
  override readonly name = 'TypesChanged'
  /** The types with which the keys are registered, by column. This batch was to register other types. */
  readonly registered: ReadonlyMap<ProfileColumn, ValueType>

  constructor(registered: ReadonlyMap<ProfileColumn, ValueType>) {
    super('keys are registered with other types')
    this.registered = registered
  }
}

/**
 * Registers the keys for which valid rows of registered users have values. A file of which nothing is applied therefore
 * registers nothing.
 *
 * Returns the columns of these keys. Throws {@link TypesChanged}, `KeyLimitExceeded`, and `FileError` if a key whose
 * type was declared has another type now.
 */
export async function registerUsedKeys(
  tx: Database,
  context: BatchContext,
  used: ReadonlySet<ProfileColumn>,
): Promise<readonly ProfileColumn[]> {
  const columns = [...used]
  const wanted = new Map(columns.flatMap(({ key, type }) => (type === undefined ? [] : [[key, type] as const])))
  if (wanted.size === 0) return []

  const { owner, keyLimit } = context
  const types = await (owner.dryRun
    ? previewKeys(tx, context, wanted)
    : registerKeys(tx, owner.appId, wanted, keyLimit))
  const changed = new Map<ProfileColumn, ValueType>()
  for (const column of columns) {
    const type = types.get(column.key)
    // design.md §3, Registering keys.
    if (type !== undefined && type !== column.type) changed.set(column, type)
  }
  const refused = [...changed].filter(([{ declared }]) => declared !== undefined)
  if (refused.length > 0)
    throw otherTypes(new Map(refused.map(([{ key }, type]) => [key, type])), context.columns.names)
  if (changed.size > 0) throw new TypesChanged(changed)
  return columns
}

/**
 * Checks for a dry run whether keys could be registered, and registers none.
 *
 * `wanted` has the type of each key that this batch would register. Keys that earlier batches would have registered
 * count, whichever process committed them. Returns the types of the registered keys. Throws `KeyLimitExceeded`.
 */
async function previewKeys(
  tx: Database,
  { owner, columns, keyLimit }: BatchContext,
  wanted: ReadonlyMap<string, ValueType>,
): Promise<Map<string, ValueType>> {
  const { keys: registered, enabled, limit } = await keyRegistry(tx, owner.appId, keyLimit)
  const added = columns.profiles.filter(
    (column) => !registered.has(column.key) && (column.registered || wanted.has(column.key)),
  )
  requireRoom(enabled + added.length, limit)
  return new Map(Array.from(registered, ([key, { type }]) => [key, type]))
}
