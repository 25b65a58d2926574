import type { ProfileEntry } from '@sluice/contract'
import { type Database, encodeTextArray, isRefusal, prepared } from '@sluice/database'
import { joinCalls } from '@sluice/joined-calls'
import { mergeIntoExisting } from './existing-profile.ts'
import { documentOf, type ProfileUpdate, profileUpdate, updateProfile } from './update.ts'

/** Maximum number of updates in one statement. Updates that arrive while it runs wait for its end. */
const maxUpdates = 100

/**
 * Maximum number of entries of an update that joins others. A larger update is enough work for a statement of its own.
 */
const maxEntries = 50

/**
 * Returns a function that updates one user's profile and shares statements, and so commits, with updates of the same
 * moment.
 *
 * Each update is still all or nothing by itself, and is committed when its promise resolves. Accepts how many keys an
 * app may have.
 *
 * A shared statement never waits for a lock. An update runs alone afterwards if its user has no profile yet, or if
 * another transaction, such as an import's batch, has locked the profile. If a key is disabled, or not registered with
 * the wanted type, all updates of that app run alone. Only the update with that key can fail then.
 *
 * The returned function accepts checked entries; the last entry of each key counts. It throws `TypeConflict`,
 * `DisabledKeys`, `UnregisteredUser` and `KeyLimitExceeded`, with nothing written.
 */
export function joinedProfileUpdates(db: Database, keyLimit: number) {
  const writeJoined = joinCalls<ProfileUpdate, boolean>((_, updates) => tryJoined(db, updates), {
    atMost: maxUpdates,
  })
  return async (appId: number, userId: string, entries: readonly ProfileEntry[]): Promise<void> => {
    const update = profileUpdate(appId, userId, entries)
    const isWritten = entries.length <= maxEntries && (await writeJoined('', update))
    if (!isWritten) await updateProfile(db, update, keyLimit)
  }
}

/** Writes the updates that need no wait. Returns for each update whether it is committed. */
async function tryJoined(db: Database, updates: readonly ProfileUpdate[]): Promise<boolean[]> {
  const users = mergedByUser(updates)
  try {
    const isWritten = await writeStatement(db, [...users.values()], wantedTypes(updates))
    const written = new Map([...users.keys()].map((user, index) => [user, isWritten[index] === true]))
    return updates.map((update) => written.get(userOf(update)) === true)
  } catch (error) {
    // A statement that Postgres refused wrote nothing. Each update now runs alone, so only the refused one fails.
    if (isRefusal(error)) return updates.map(() => false)
    throw error
  }
}

/** A profile key with the type that an update wants for it. */
interface WantedType {
  appId: number
  key: string
  type: string
}

/**
 * Writes updates in one statement and one round trip. Accepts at most one update of each user. Returns for each update
 * whether it is written.
 *
 * `free` selects the profiles that no other transaction has locked, and locks them. The insert therefore always finds
 * an existing profile. It finds each profile by index, whereas the planner could run an `update` as a join that reads
 * the whole table. A profile that already holds all the values is not written.
 */
async function writeStatement(
  db: Database,
  updates: readonly ProfileUpdate[],
  wanted: readonly WantedType[],
): Promise<boolean[]> {
  const appIds = updates.map(({ appId }) => appId)
  const userIds = encodeTextArray(updates.map(({ userId }) => userId))
  const documents = encodeTextArray(updates.map(({ latest }) => documentOf(latest)))
  const keyApps = wanted.map(({ appId }) => appId)
  const keys = encodeTextArray(wanted.map(({ key }) => key))
  const types = encodeTextArray(wanted.map(({ type }) => type))
  const { rows } = await prepared<{ written: number[] | null }>`
    with deviating as materialized (
      select w.app_id from unnest(${keyApps}::integer[], ${keys}::text[], ${types}::text[]) as w (app_id, key, type)
      where w.type is distinct from (
        select type from profile_keys k where k.app_id = w.app_id and k.key = w.key and k.enabled
      )
    ), given as materialized (
      select * from unnest(${appIds}::integer[], ${userIds}::text[], ${documents}::text[])
        with ordinality as g (app_id, user_id, document, ordinal)
      where app_id not in (select app_id from deviating)
    ), free as materialized (
      select g.* from given g cross join lateral (
        select from profiles p where p.app_id = g.app_id and p.user_id = g.user_id for no key update skip locked
      ) p
    ), written as (
      insert into profiles as p (app_id, user_id, attributes, updated_at)
      select app_id, user_id, document::hstore, now() from free
      ${mergeIntoExisting}
    )
    select array_agg(ordinal::integer) as written from free
  `.execute(db)
  const written = new Set(rows[0]?.written)
  return updates.map((_, index) => written.has(index + 1))
}

/** Merges the updates of each user, in order. */
function mergedByUser(updates: readonly ProfileUpdate[]): Map<string, ProfileUpdate> {
  const users = new Map<string, ProfileUpdate>()
  for (const update of updates) {
    const preceding = users.get(userOf(update))
    const latest = preceding === undefined ? update.latest : new Map([...preceding.latest, ...update.latest])
    users.set(userOf(update), { ...update, latest })
  }
  return users
}

function userOf({ appId, userId }: ProfileUpdate): string {
  return `${appId} ${userId}`
}

/** Returns each key with each type that an update wants for it, without repetitions. */
function wantedTypes(updates: readonly ProfileUpdate[]): WantedType[] {
  const wanted = new Map<string, WantedType>()
  for (const { appId, latest } of updates) {
    for (const { key, type } of latest.values()) wanted.set(`${appId} ${type} ${key}`, { appId, key, type })
  }
  return [...wanted.values()]
}
