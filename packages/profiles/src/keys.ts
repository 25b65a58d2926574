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

/** The profile keys of an app, and how many it may have. */
export interface KeyRegistry {
  /** Types by key. */
  types: Map<string, ValueType>
  limit: number
}

/**
 * Looks up an app's profile keys and its limit at once. `defaultLimit` applies to an app without a limit of its own.
 */
export async function keyRegistry(db: Database, appId: number, defaultLimit: number): Promise<KeyRegistry> {
  const rows = await db
    .selectFrom('apps as a')
    .leftJoin('profile_keys as k', 'k.app_id', 'a.app_id')
    .select(['a.profile_key_limit', 'k.key', 'k.type'])
    .where('a.app_id', '=', appId)
    .orderBy('k.key')
    .execute()
  const types = new Map<string, ValueType>()
  for (const { key, type } of rows) if (key !== null && type !== null) types.set(key, type)
  return { types, limit: rows[0]?.profile_key_limit ?? defaultLimit }
}

/**
 * Registers keys, in the transaction that first uses them (design.md §3, Registering keys).
 *
 * Accepts the wanted type of each key, and the limit of keys for an app without one of its own. Returns the type that
 * each key has now: the wanted type, or the type that another transaction registered meanwhile. A registered type never
 * changes. Throws {@link KeyLimitExceeded}. Registrations of one app wait for each other, so the limit is exact.
 */
export async function registerKeys(
  tx: Database,
  appId: number,
  wanted: ReadonlyMap<string, ValueType>,
  defaultLimit: number,
): Promise<Map<string, ValueType>> {
  const app = await tx
    .selectFrom('apps')
    .select('profile_key_limit')
    .where('app_id', '=', appId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  const registered = await registeredKeys(tx, appId)
  const missing = [...wanted].filter(([key]) => !registered.has(key))
  if (missing.length > 0) {
    requireRoom(registered.size + missing.length, app?.profile_key_limit ?? defaultLimit)
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
