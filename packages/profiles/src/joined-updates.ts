import type { ProfileEntry } from '@sluice/contract'
import { type Database, encodeTextArray, isRefusal, sql } from '@sluice/database'
import { joinCalls } from '@sluice/joined-calls'
import { documentOf, type ProfileUpdate, profileUpdate, updateProfile } from './update.ts'

/** Most updates in one statement: what comes after it waits for it. */
const updatesAtMost = 100

/** Larger updates go alone: they are work enough for a statement. */
const entriesAtMost = 50

/**
 * Opens profile updates that share statements, and so commits, with those of the same app at the same moment. Each is
 * still all or nothing by itself, and is committed when its promise resolves.
 *
 * A joint statement does the plain work only, and waits for nobody: an update whose user is unknown or locked by someone
 * else, by an import's batch for one, goes alone afterwards. So do all of a statement where a key is not registered with
 * the wanted type: the one that is to blame gets its own answer then.
 *
 * Takes how many keys an app may have. Gives a function that updates one user from checked entries, of which the latest of
 * each key counts. It throws `TypeConflict`, `UnregisteredUser` and `KeyLimitExceeded`, with nothing written.
 */
export function joinedProfileUpdates(db: Database, keyLimit: number) {
  const writeJoined = joinCalls<ProfileUpdate, boolean>((_, updates) => writeTogether(db, updates), {
    atMost: updatesAtMost,
  })
  return async (appId: number, userId: string, entries: readonly ProfileEntry[]): Promise<void> => {
    const update = profileUpdate(appId, userId, entries)
    const isWritten = entries.length <= entriesAtMost && (await writeJoined(String(appId), update))
    if (!isWritten) await updateProfile(db, update, keyLimit)
  }
}

/** Writes what can be written at once of one app's updates. Gives for each whether it is written and committed. */
async function writeTogether(db: Database, updates: readonly ProfileUpdate[]): Promise<boolean[]> {
  const [first] = updates
  if (first === undefined || updates.length === 1) return updates.map(() => false)
  try {
    const written = await writeStatement(db, first.appId, updates)
    return updates.map(({ userId }) => written.has(userId))
  } catch (error) {
    // A statement that Postgres refused wrote nothing. Whose values it was gets its error alone; the rest do without.
    if (isRefusal(error)) return updates.map(() => false)
    throw error
  }
}

/**
 * One statement, one round trip. `free` has the users whose rows nobody else holds, and holds them; the insert then always
 * finds its row. It is an insert since only that is sure to find each row by index: an update could join by reading the
 * whole table. A profile that already holds all the values is not written.
 *
 * Gives the users that are written; none where a key is not registered with the wanted type.
 */
async function writeStatement(db: Database, appId: number, updates: readonly ProfileUpdate[]): Promise<Set<string>> {
  const users = [...latestByUser(updates)]
  const wanted = wantedTypes(updates)
  const userIds = encodeTextArray(users.map(([userId]) => userId))
  const documents = encodeTextArray(users.map(([, latest]) => documentOf(latest)))
  const keys = encodeTextArray(wanted.map(({ key }) => key))
  const types = encodeTextArray(wanted.map(({ type }) => type))
  const { rows } = await sql<{ flags: string }>`
    /* prepared */
    with deviating as materialized (
      select from unnest(${keys}::text[], ${types}::text[]) as w (key, type)
      where w.type is distinct from (select type from profile_keys k where k.app_id = ${appId}::integer and k.key = w.key)
    ), given as materialized (
      select * from unnest(${userIds}::text[], ${documents}::text[]) with ordinality as g (user_id, document, ordinal)
    ), free as materialized (
      select g.ordinal, g.user_id, g.document from given g cross join lateral (
        select from users u where u.app_id = ${appId}::integer and u.user_id = g.user_id
        for no key update skip locked
      ) u
      where not exists (select from deviating)
    ), written as (
      insert into users as u (app_id, user_id, attributes)
      select ${appId}::integer, user_id, document::jsonb from free
      on conflict (app_id, user_id) do update
        set attributes = u.attributes || excluded.attributes, updated_at = now()
        where not u.attributes @> excluded.attributes
    )
    select string_agg(case when f.ordinal is null then '-' else '+' end, '' order by g.ordinal) as flags
    from given g left join free f on f.ordinal = g.ordinal
  `.execute(db)
  const flags = rows[0]?.flags ?? ''
  return new Set(users.flatMap(([userId], index) => (flags[index] === '+' ? [userId] : [])))
}

/** What the updates of each user come to, one after the other. */
function latestByUser(updates: readonly ProfileUpdate[]): Map<string, ReadonlyMap<string, ProfileEntry>> {
  const users = new Map<string, ReadonlyMap<string, ProfileEntry>>()
  for (const { userId, latest } of updates) {
    const earlier = users.get(userId)
    users.set(userId, earlier === undefined ? latest : new Map([...earlier, ...latest]))
  }
  return users
}

/** Each key with each type that an update wants for it, once. */
function wantedTypes(updates: readonly ProfileUpdate[]): ProfileEntry[] {
  const entries = updates.flatMap(({ latest }) => [...latest.values()])
  return [...new Map(entries.map((entry) => [`${entry.type} ${entry.key}`, entry])).values()]
}
