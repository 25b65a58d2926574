import type { ProfileEntry } from '@sluice/contract'
import { type Database, encodeTextArray, isRefusal, sql } from '@sluice/database'
import { joinCalls } from '@sluice/joined-calls'
import { overExistingProfile } from './existing-profile.ts'
import { documentOf, type ProfileUpdate, profileUpdate, updateProfile } from './update.ts'

/** Most updates in one statement: what comes after it waits for it. */
const updatesAtMost = 100

/** Larger updates go alone: they are work enough for a statement. */
const entriesAtMost = 50

/**
 * Opens profile updates that share statements, and so commits, with others at the same moment. Each is still all or
 * nothing by itself, and is committed when its promise resolves.
 *
 * A joint statement does the plain work only, and waits for nobody: an update whose user has no profile yet, or one
 * that is locked by someone else, by an import's batch for one, goes alone afterwards. So do an app's updates where one of them has a key that is
 * not registered with the wanted type: the one that is to blame gets its own answer then.
 *
 * Takes how many keys an app may have. Gives a function that updates one user from checked entries, of which the latest of
 * each key counts. It throws `TypeConflict`, `UnregisteredUser` and `KeyLimitExceeded`, with nothing written.
 */
export function joinedProfileUpdates(db: Database, keyLimit: number) {
  const writeJoined = joinCalls<ProfileUpdate, boolean>((_, updates) => writeAtOnce(db, updates), {
    atMost: updatesAtMost,
  })
  return async (appId: number, userId: string, entries: readonly ProfileEntry[]): Promise<void> => {
    const update = profileUpdate(appId, userId, entries)
    const isWritten = entries.length <= entriesAtMost && (await writeJoined('', update))
    if (!isWritten) await updateProfile(db, update, keyLimit)
  }
}

/** Writes what can be written at once. Gives for each update whether it is written and committed. */
async function writeAtOnce(db: Database, updates: readonly ProfileUpdate[]): Promise<boolean[]> {
  const users = mergedByUser(updates)
  try {
    const isWritten = await writeStatement(db, [...users.values()], wantedTypes(updates))
    const written = new Map([...users.keys()].map((user, index) => [user, isWritten[index] === true]))
    return updates.map((update) => written.get(userOf(update)) === true)
  } catch (error) {
    // A statement that Postgres refused wrote nothing. Whose values it was gets its error alone; the rest do without.
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
 * One statement, one round trip. `free` has the users whose profiles nobody else holds, and holds them; the insert then
 * always finds its row. It is an insert since only that is sure to find each row by index: an update could join by reading the
 * whole table. A profile that already holds all the values is not written.
 *
 * Takes at most one update of each user. Gives for each whether it is written.
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
  const { rows } = await sql<{ written: number[] | null }>`
    /* prepared */
    with deviating as materialized (
      select w.app_id from unnest(${keyApps}::integer[], ${keys}::text[], ${types}::text[]) as w (app_id, key, type)
      where w.type is distinct from (select type from profile_keys k where k.app_id = w.app_id and k.key = w.key)
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
      select app_id, user_id, document::jsonb, now() from free
      ${overExistingProfile}
    )
    select array_agg(ordinal::integer) as written from free
  `.execute(db)
  const written = new Set(rows[0]?.written)
  return updates.map((_, index) => written.has(index + 1))
}

/** What the updates of each user come to, one after the other. */
function mergedByUser(updates: readonly ProfileUpdate[]): Map<string, ProfileUpdate> {
  const users = new Map<string, ProfileUpdate>()
  for (const update of updates) {
    const earlier = users.get(userOf(update))
    const latest = earlier === undefined ? update.latest : new Map([...earlier.latest, ...update.latest])
    users.set(userOf(update), { ...update, latest })
  }
  return users
}

function userOf({ appId, userId }: ProfileUpdate): string {
  return `${appId} ${userId}`
}

/** Each key with each type that an update wants for it, once. */
function wantedTypes(updates: readonly ProfileUpdate[]): WantedType[] {
  const wanted = new Map<string, WantedType>()
  for (const { appId, latest } of updates) {
    for (const { key, type } of latest.values()) wanted.set(`${appId} ${type} ${key}`, { appId, key, type })
  }
  return [...wanted.values()]
}
