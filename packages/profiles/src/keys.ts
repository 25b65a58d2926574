import { fileMessages, type ValueType } from '@sluice/contract'
import { type Database, encodeTextArray, sql } from '@sluice/database'

/** The app would have more profile keys than its limit (service.md, Errors). */
export class KeyLimitExceeded extends Error {
  override readonly name = 'KeyLimitExceeded'

  constructor(limit: number) {
    super(fileMessages.tooManyKeys(limit))
  }
}

/** Returns the types of an app's profile keys, by key. */
export async function registeredKeys(db: Database, appId: number): Promise<Map<string, ValueType>> {
  const rows = await db
    .selectFrom('profile_keys')
    .select(['key', 'type'])
    .where('app_id', '=', appId)
    .orderBy('key')
    .execute()
  return new Map(rows.map(({ key, type }) => [key, type]))
}

/**
 * Registers keys, in the transaction that first uses them (design.md §3, Registering keys).
 *
 * Accepts the wanted type of each key and the app's limit of keys. Returns the type that each key has now: the wanted
 * type, or the type that another transaction registered meanwhile. A registered type never changes. Throws {@link
 * KeyLimitExceeded}. Registrations of one app wait for each other, so the limit is exact.
 */
export async function registerKeys(
  tx: Database,
  appId: number,
  wanted: ReadonlyMap<string, ValueType>,
  limit: number,
): Promise<Map<string, ValueType>> {
  await tx.selectFrom('apps').select('app_id').where('app_id', '=', appId).forNoKeyUpdate().execute()
  const registered = await registeredKeys(tx, appId)
  const missing = [...wanted].filter(([key]) => !registered.has(key))
  if (missing.length > 0) {
    requireRoom(registered.size + missing.length, limit)
    const keys = encodeTextArray(missing.map(([key]) => key))
    const types = encodeTextArray(missing.map(([, type]) => type))
    await sql`
      insert into profile_keys (app_id, key, type)
      select ${appId}::integer, key, type from unnest(${keys}::text[], ${types}::text[]) as m (key, type)
    `.execute(tx)
  }
  return new Map([...wanted].map(([key, type]) => [key, registered.get(key) ?? type]))
}

/** Throws {@link KeyLimitExceeded} if `count` keys are more than `limit`. */
export function requireRoom(count: number, limit: number): void {
  if (count > limit) throw new KeyLimitExceeded(limit)
}
