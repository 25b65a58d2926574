import { fileMessages, type ProfileKeyView, typeConflicts, type ValueType } from '@sluice/contract'
import { type Database, encodeTextArray, retryConflicts, sql } from '@sluice/database'
import { oneAfterAnother } from '@sluice/joined-calls'

/** The app would have more profile keys than its limit (service.md, Errors). */
export class KeyLimitExceeded extends Error {
  override readonly name = 'KeyLimitExceeded'

  constructor(limit: number) {
    super(fileMessages.tooManyKeys(limit))
  }
}

/** Keys are registered with other types, which never change (service.md, Profile entry). */
export class TypeConflict extends Error {
  override readonly name = 'TypeConflict'
  /** One message for each key. */
  readonly messages: string[]

  constructor(registered: Iterable<readonly [key: string, type: ValueType]>) {
    const messages = typeConflicts(registered)
    super(messages.join(', '))
    this.messages = messages
  }
}

/**
 * Runs registrations of one app's keys one after another. They would wait for each other in Postgres anyway, but each
 * would hold a connection.
 */
export const registerInOrder = oneAfterAnother()

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
 * Registers keys, in the transaction that first uses them (design.md §3, Registering keys;
 * second-day.md §1, Profile keys).
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

/**
 * Registers keys with exactly these types, or none of them. Keys that already have their wanted type stay as they are.
 *
 * Accepts the limit of keys for an app without one of its own. Returns all the wanted keys, sorted. Throws {@link
 * TypeConflict}, {@link KeyLimitExceeded}.
 */
export async function declareKeys(
  db: Database,
  appId: number,
  wanted: ReadonlyMap<string, ValueType>,
  defaultLimit: number,
): Promise<ProfileKeyView[]> {
  const declare = async (tx: Database) => {
    const types = await registerKeys(tx, appId, wanted, defaultLimit)
    const conflicts = [...types].filter(([key, type]) => type !== wanted.get(key))
    if (conflicts.length > 0) throw new TypeConflict(conflicts)
    return await listKeys(tx, appId, [...wanted.keys()])
  }
  return await registerInOrder(appId, () => retryConflicts(() => db.transaction().execute(declare)))
}

/** Throws {@link TypeConflict} if keys are registered with other types than the wanted ones. Registers nothing. */
export async function requireTypes(
  db: Database,
  appId: number,
  wanted: Readonly<Record<string, ValueType>>,
): Promise<void> {
  const keys = Object.keys(wanted)
  if (keys.length === 0) return
  const conflicts = (await listKeys(db, appId, keys)).filter(({ key, type }) => type !== wanted[key])
  if (conflicts.length > 0) throw new TypeConflict(conflicts.map(({ key, type }) => [key, type] as const))
}

/** Lists an app's profile keys, sorted; with `among`, only those of these keys that are registered. */
export async function listKeys(db: Database, appId: number, among?: readonly string[]): Promise<ProfileKeyView[]> {
  const rows = await db
    .selectFrom('profile_keys')
    .select(['key', 'type', 'registered_at'])
    .where('app_id', '=', appId)
    .$if(among !== undefined, (query) =>
      query.where('key', '=', sql<string>`any(${encodeTextArray(among ?? [])}::text[])`),
    )
    .orderBy('key')
    .execute()
  return rows.map(({ key, type, registered_at: at }) => ({ key, type, registered_at: at.toISOString() }))
}

/** Throws {@link KeyLimitExceeded} if `count` keys are more than `limit`. */
export function requireRoom(count: number, limit: number): void {
  if (count > limit) throw new KeyLimitExceeded(limit)
}
