import type { ProfileEntry, ValueType } from '@sluice/contract'
import { type Database, encodeTextArray, prepared, retryConflicts } from '@sluice/database'
import { mergeIntoExisting } from './existing-profile.ts'
import { DisabledKeys, registerInOrder, registerKeys, TypeConflict } from './keys.ts'
import { userIdProblem } from './users.ts'
import { plainNumber } from './values/plain-number.ts'

/** The user ID is not registered (service.md, Profile update request; service.md, Errors: code 1002). */
export class UnregisteredUser extends Error {
  override readonly name = 'UnregisteredUser'
}

/** The update of one user's profile by one request. */
export interface ProfileUpdate {
  appId: number
  userId: string
  /** By key, the last entry of the request. */
  latest: ReadonlyMap<string, ProfileEntry>
}

/**
 * Returns an update from checked entries; the last entry of each key counts (service.md, Profile entry). Throws
 * {@link UnregisteredUser}.
 */
export function profileUpdate(appId: number, userId: string, entries: readonly ProfileEntry[]): ProfileUpdate {
  // Postgres would refuse such an ID, or find another user by it.
  if (userIdProblem(userId) !== undefined) throw new UnregisteredUser()
  return { appId, userId, latest: new Map(entries.map((entry) => [entry.key, entry])) }
}

/**
 * Updates one user's profile and registers its new keys, all or nothing (design.md §3, Profile update). When it
 * returns, the update is committed.
 *
 * Accepts the app's limit of keys. Throws {@link TypeConflict}, {@link DisabledKeys}, {@link UnregisteredUser} and
 * `KeyLimitExceeded`, with nothing written.
 */
export async function updateProfile(db: Database, update: ProfileUpdate, keyLimit: number): Promise<void> {
  // A key is new only once, so one statement is mostly enough.
  const { unregistered } = await writeValues(db, update)
  if (unregistered.size === 0) return
  await registerInOrder(update.appId, () => retryConflicts(() => registerAndWrite(db, update, keyLimit)))
}

/** Returns the values of entries by key, as the text of an `hstore`. */
export function documentOf(latest: ReadonlyMap<string, ProfileEntry>): string {
  const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`
  const textOf = (value: string | number) => (typeof value === 'number' ? plainNumber(value) : value)
  return Array.from(latest, ([key, { value }]) => `${quoted(key)}=>${quoted(textOf(value))}`).join()
}

/** Registers keys and writes values. Locks keys before users, as an import does, so that the two never deadlock. */
async function registerAndWrite(db: Database, update: ProfileUpdate, keyLimit: number): Promise<void> {
  const types = new Map([...update.latest].map(([key, { type }]) => [key, type]))
  await db.transaction().execute(async (tx) => {
    await registerKeys(tx, update.appId, types, keyLimit)
    // Throws if another transaction has just registered a key with another type.
    await writeValues(tx, update)
  })
}

/**
 * Merges the values into the profile if every key is enabled and has the wanted type. Otherwise writes nothing.
 *
 * It is one statement and one round trip. A profile that already holds all the values is not written. `for key share`
 * keeps the user from being deleted meanwhile.
 *
 * Returns the keys that are not registered. Throws {@link DisabledKeys}, {@link TypeConflict} and
 * {@link UnregisteredUser}.
 */
async function writeValues(
  db: Database,
  { appId, userId, latest }: ProfileUpdate,
): Promise<{ unregistered: Set<string> }> {
  const keys = encodeTextArray([...latest.keys()])
  const wantedTypes = encodeTextArray([...latest.values()].map(({ type }) => type))
  const document = documentOf(latest)
  const { rows } = await prepared<{
    is_user: boolean
    deviations: [string, ValueType | null, boolean | null][] | null
  }>`
    with deviating as materialized (
      select w.key, k.type, k.enabled
      from unnest(${keys}::text[], ${wantedTypes}::text[]) as w (key, type)
      left join profile_keys k on k.app_id = ${appId}::integer and k.key = w.key
      where k.type is distinct from w.type or not k.enabled
    ), found as materialized (
      select app_id, user_id from users where app_id = ${appId}::integer and user_id = ${userId} for key share
    ), written as (
      insert into profiles as p (app_id, user_id, attributes, updated_at)
      select app_id, user_id, ${document}::hstore, now() from found where not exists (select from deviating)
      ${mergeIntoExisting}
    )
    select exists (select from found) as is_user,
      (select json_agg(json_build_array(key, type, enabled)) from deviating) as deviations
  `.execute(db)
  const deviations = rows[0]?.deviations ?? []
  const disabled = deviations.filter(([, , isEnabled]) => isEnabled === false)
  if (disabled.length > 0) throw new DisabledKeys(disabled.map(([key]) => key))
  const conflicts = deviations.flatMap(([key, type]) => (type === null ? [] : [[key, type] as const]))
  if (conflicts.length > 0) throw new TypeConflict(new Map(conflicts))
  if (rows[0]?.is_user !== true) throw new UnregisteredUser()
  return { unregistered: new Set(deviations.map(([key]) => key)) }
}
