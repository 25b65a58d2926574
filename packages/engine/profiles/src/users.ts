import { limits, nameProblem, type ValueType } from '@sluice/contract'
import { type Database, encodeTextArray, sql } from '@sluice/database'
import { registeredKeys } from './keys.ts'

/** Returns the rule that a user ID breaks, such as "must not be empty"; undefined if the ID is valid. */
export function userIdProblem(userId: string): string | undefined {
  return nameProblem(userId, limits.userIdLength)
}

/**
 * A statement of {@link registerUsers} ends with the ID that reaches this many characters. Encoding more at once would
 * block the event loop. A request of 10,000 UUIDs is one statement: each statement is a commit.
 */
const charactersPerStatement = 2 ** 19

/**
 * Registers users (service.md, What the service does; design.md §3, Registering users). Users that are already
 * registered stay as they are.
 *
 * Accepts valid user IDs. Returns how many of them are new.
 */
export async function registerUsers(db: Database, appId: number, userIds: readonly string[]): Promise<number> {
  // The same order in all registrations, so that two registrations of the same users wait instead of deadlocking.
  const sorted = userIds.toSorted()
  let registered = 0
  for (let from = 0, to = 0; from < sorted.length; from = to) {
    for (let characters = 0; to < sorted.length && characters < charactersPerStatement; to++) {
      characters += sorted[to]?.length ?? 0
    }
    const { numAffectedRows } = await sql`
      insert into users (app_id, user_id)
      select ${appId}::integer, unnest(${encodeTextArray(sorted.slice(from, to))}::text[])
      on conflict do nothing
    `.execute(db)
    registered += Number(numAffectedRows ?? 0)
  }
  return registered
}

/** Maximum number of user IDs in one lookup. An ID has at most 1 KB. */
const idsPerLookup = 1_000

/** Returns which of these different user IDs are not registered, in order. */
export async function findUnregistered(db: Database, appId: number, userIds: readonly string[]): Promise<string[]> {
  const registered = new Set<string>()
  for (let at = 0; at < userIds.length; at += idsPerLookup) {
    const part = encodeTextArray(userIds.slice(at, at + idsPerLookup))
    const { rows } = await sql<{ id: string }>`
      select user_id as id from users where app_id = ${appId} and user_id = any(${part}::text[])
    `.execute(db)
    for (const { id } of rows) registered.add(id)
  }
  return userIds.filter((userId) => !registered.has(userId))
}

/** One user as `sluice users show` prints it, except for the user's deletion (design.md §2, User view). */
export interface UserView {
  user_id: string
  profiles: Record<string, { type: ValueType; value: string | number }>
  campaign_target: boolean
}

/** Returns a user with the values of all enabled keys (changes.md §4); undefined if the ID is not registered. */
export async function showUser(db: Database, appId: number, userId: string): Promise<UserView | undefined> {
  const user = await db
    .selectFrom('users')
    .leftJoin('profiles', (join) =>
      join.onRef('profiles.app_id', '=', 'users.app_id').onRef('profiles.user_id', '=', 'users.user_id'),
    )
    .leftJoin('campaign_targets', (join) =>
      join
        .onRef('campaign_targets.app_id', '=', 'users.app_id')
        .onRef('campaign_targets.user_id', '=', 'users.user_id'),
    )
    .select(['users.user_id', 'campaign_targets.user_id as target'])
    .select(sql<Record<string, string> | null>`hstore_to_json(profiles.attributes)`.as('values'))
    .where('users.app_id', '=', appId)
    .where('users.user_id', '=', userId)
    .executeTakeFirst()
  if (user === undefined) return undefined
  const keys = await registeredKeys(db, appId)
  const profiles = Object.entries(user.values ?? {}).flatMap(([key, text]) => {
    const { type, enabled } = keys.get(key) ?? { enabled: false }
    if (type === undefined || !enabled) return []
    return [[key, { type, value: type === 'int' || type === 'decimal' ? Number(text) : text }] as const]
  })
  return {
    user_id: user.user_id,
    profiles: Object.fromEntries(profiles),
    campaign_target: user.target !== null,
  }
}
