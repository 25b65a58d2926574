import type { ValueType } from '@sluice/contract'
import { type Database, encodeTextArray, sql } from '@sluice/database'

/** The app has as many profile keys as it may have (service.md, Errors). */
export class KeyLimitExceeded extends Error {
  override readonly name = 'KeyLimitExceeded'

  constructor(limit: number) {
    super(`This app has exceeded the limit of enabled user profile(${limit})`)
  }
}

/** The profile keys of an app with their types, by key. */
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
 * Registers keys, inside the transaction that first uses them (design.md §3, Registering keys).
 *
 * Takes the wanted type of each key and how many keys the app may have. Gives the type that each of them has now: the
 * wanted one, or the one that another transaction registered meanwhile, which holds for good. Throws
 * {@link KeyLimitExceeded}. Registrations of one app wait for each other, so that the limit is exact.
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

/** Throws {@link KeyLimitExceeded} where an app with `count` keys would have more than `limit`. */
export function requireRoom(count: number, limit: number): void {
  if (count > limit) throw new KeyLimitExceeded(limit)
}
