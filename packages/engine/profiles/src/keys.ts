import { isDeepStrictEqual } from 'node:util'
import {
  fileMessages,
  keyMessages,
  limits,
  nameProblem,
  type ProfileKeyList,
  type ProfileKeyView,
  typeConflicts,
  type ValueType,
} from '@sluice/contract'
import { type Database, encodeTextArray, retryConflicts, sql } from '@sluice/database'
import { oneAfterAnother } from '@sluice/joined-calls'

/** The app would have more enabled profile keys than its limit (service.md, Errors). */
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

/** A profile update has values of disabled keys (changes.md §4). */
export class DisabledKeys extends Error {
  override readonly name = 'DisabledKeys'
  /** One message for each key. */
  readonly messages: string[]

  constructor(keys: readonly string[]) {
    const messages = keys.map(keyMessages.disabled)
    super(messages.join(', '))
    this.messages = messages
  }
}

/** Keys are not registered, so they cannot be changed. */
export class UnregisteredKeys extends Error {
  override readonly name = 'UnregisteredKeys'

  constructor(keys: readonly string[]) {
    super(fileMessages.keysNotRegistered(keys.join(', ')))
  }
}

/**
 * Runs registrations of one app's keys one after another. They would wait for each other in Postgres anyway, but each
 * would hold a connection.
 */
export const registerInOrder = oneAfterAnother()

/** A profile key of an app. Nothing reads or writes the values of a disabled key (changes.md §4). */
export interface RegisteredKey {
  type: ValueType
  enabled: boolean
}

/** Returns an app's profile keys by name, sorted. */
export async function registeredKeys(db: Database, appId: number): Promise<Map<string, RegisteredKey>> {
  const rows = await db
    .selectFrom('profile_keys')
    .select(['key', 'type', 'enabled'])
    .where('app_id', '=', appId)
    .orderBy('key')
    .execute()
  return new Map(rows.map(({ key, ...registered }) => [key, registered]))
}

/** The profile keys of an app, and how many of them may be enabled. */
export interface KeyRegistry {
  keys: Map<string, RegisteredKey>
  /** Number of enabled keys. */
  enabled: number
  limit: number
}

/**
 * Looks up an app's profile keys and its limit at once. `defaultLimit` applies to an app without a limit of its own.
 */
export async function keyRegistry(db: Database, appId: number, defaultLimit: number): Promise<KeyRegistry> {
  const rows = await db
    .selectFrom('apps as a')
    .leftJoin('profile_keys as k', 'k.app_id', 'a.app_id')
    .select(['a.profile_key_limit', 'k.key', 'k.type', 'k.enabled'])
    .where('a.app_id', '=', appId)
    .orderBy('k.key')
    .execute()
  const keys = new Map<string, RegisteredKey>()
  for (const { key, type, enabled } of rows)
    if (key !== null && type !== null) keys.set(key, { type, enabled: enabled === true })
  const enabled = rows.filter((row) => row.enabled).length
  return { keys, enabled, limit: rows[0]?.profile_key_limit ?? defaultLimit }
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
  await tx.selectFrom('apps').select('app_id').where('app_id', '=', appId).forNoKeyUpdate().execute()
  const { keys: registered, enabled, limit } = await keyRegistry(tx, appId, defaultLimit)
  const missing = [...wanted].filter(([key]) => !registered.has(key))
  if (missing.length > 0) {
    requireRoom(enabled + missing.length, limit)
    const keys = encodeTextArray(missing.map(([key]) => key))
    const types = encodeTextArray(missing.map(([, type]) => type))
    await sql`
      insert into profile_keys (app_id, key, type)
      select ${appId}::integer, key, type from unnest(${keys}::text[], ${types}::text[]) as m (key, type)
    `.execute(tx)
  }
  return new Map([...wanted].map(([key, type]) => [key, registered.get(key)?.type ?? type]))
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
  return await inOrder(db, appId, async (tx) => {
    const types = await registerKeys(tx, appId, wanted, defaultLimit)
    const conflicts = [...types].filter(([key, type]) => type !== wanted.get(key))
    if (conflicts.length > 0) throw new TypeConflict(conflicts)
    return await listKeys(tx, appId, [...wanted.keys()])
  })
}

function inOrder<Result>(db: Database, appId: number, change: (tx: Database) => Promise<Result>): Promise<Result> {
  return registerInOrder(appId, () => retryConflicts(() => db.transaction().execute(change)))
}

/** What becomes of registered keys. An undefined member stays as it is. */
interface KeyChange {
  keys: readonly string[]
  enabled?: boolean | undefined
  description?: string | null | undefined
}

/** Returns a change of keys for the audit log, such as `disabled: plan, zip`. */
export function keyChangeText({ keys, enabled, description }: KeyChange): string {
  const state = enabled === undefined ? [] : [enabled ? 'enabled' : 'disabled']
  return `${[...state, ...(description === undefined ? [] : ['described'])].join(' and ')}: ${keys.join(', ')}`
}

/**
 * Enables, disables or describes registered keys, all or none (changes.md §4).
 *
 * Accepts the limit of enabled keys for an app without one of its own. Returns the keys as they are now, sorted, and
 * whether any differs from before. Throws {@link UnregisteredKeys}, {@link KeyLimitExceeded}. Changes of one app's keys
 * wait for each other, so the limit is exact.
 */
export async function changeKeys(
  db: Database,
  appId: number,
  { keys, enabled, description }: KeyChange,
  defaultLimit: number,
): Promise<{ keys: ProfileKeyView[]; hasChanged: boolean }> {
  // Postgres would refuse other names.
  const possible = keys.filter((key) => nameProblem(key, limits.keyLength) === undefined)
  return await inOrder(db, appId, async (tx) => {
    const version = sql<number>`keys_version + 1`
    await tx.updateTable('apps').set({ keys_version: version }).where('app_id', '=', appId).execute()
    const before = await listKeys(tx, appId, possible)
    const unregistered = keys.filter((key) => !before.some((entry) => entry.key === key))
    if (unregistered.length > 0) throw new UnregisteredKeys(unregistered)
    const toEnable = enabled === true ? before.filter((entry) => !entry.enabled).length : 0
    if (toEnable > 0) {
      const registry = await keyRegistry(tx, appId, defaultLimit)
      requireRoom(registry.enabled + toEnable, registry.limit)
    }
    await tx
      .updateTable('profile_keys')
      .set({ enabled, description })
      .where('app_id', '=', appId)
      .where('key', '=', sql<string>`any(${encodeTextArray(possible)}::text[])`)
      .execute()
    const after = await listKeys(tx, appId, possible)
    return { keys: after, hasChanged: !isDeepStrictEqual(before, after) }
  })
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
    .select(['key', 'type', 'registered_at', 'enabled', 'description'])
    .where('app_id', '=', appId)
    .$if(among !== undefined, (query) =>
      query.where('key', '=', sql<string>`any(${encodeTextArray(among ?? [])}::text[])`),
    )
    .orderBy('key')
    .execute()
  return rows.map(({ registered_at: at, ...row }) => ({ ...row, registered_at: at.toISOString() }))
}

/** Lists all profile keys of an app, with its limit of enabled keys. Accepts the limit of an app without its own. */
export async function keyList(db: Database, appId: number, defaultLimit: number): Promise<ProfileKeyList> {
  const [keys, { limit }] = await Promise.all([listKeys(db, appId), keyRegistry(db, appId, defaultLimit)])
  return { profile_keys: keys, limit, enabled_keys: keys.filter(({ enabled }) => enabled).length }
}

/** Throws {@link KeyLimitExceeded} if `count` keys are more than `limit`. */
export function requireRoom(count: number, limit: number): void {
  if (count > limit) throw new KeyLimitExceeded(limit)
}
