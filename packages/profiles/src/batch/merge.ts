import { type Database, lookUpByIndex, sql } from '@sluice/database'
import type { ProfileBatch } from './profile-batch.ts'

/** Stands for no hash in an array, and is never stored: so no profile is taken for up to date by it. */
const noHash = '00000000-0000-0000-0000-000000000000'

/** What the database knows of a batch's users, by their numbers in it. */
export class UserStates {
  readonly #states: string

  constructor(states: string) {
    this.#states = states
  }

  isRegistered(user: number): boolean {
    return this.#states[user] !== '-'
  }

  /** The profile holds all values of the user's row: there is nothing to check or to write. */
  isUpToDate(user: number): boolean {
    return this.#states[user] === '='
  }

  /** Registered users with new values that their profile is not known to hold. */
  toUpdate(batch: ProfileBatch): number[] {
    const users: number[] = []
    for (let user = 0; user < batch.size; user++) {
      if (this.#states[user] === '+' && batch.hasDocument(user)) users.push(user)
    }
    return users
  }
}

/**
 * Looks the users of a batch up, in one round trip: who is registered, and whose profile is known to hold the new values,
 * because the last row that was merged into it was the same. Of such a row no value is even looked at.
 *
 * Runs in the caller's transaction.
 */
export async function lookUpUsers(tx: Database, appId: number, batch: ProfileBatch): Promise<UserStates> {
  if (batch.size === 0) return new UserStates('')
  await lookUpByIndex(tx)
  const { rows } = await sql<{ states: string }>`
    /* prepared */
    select string_agg(
      case when u.user_id is null then '-' when u.row_hash = g.row_hash then '=' else '+' end,
      '' order by g.ordinal) as states
    from (
      select ${appId}::integer as app_id, unnest(${batch.idArray()}::text[]) as user_id,
        unnest(${batch.hashArray()}::uuid[]) as row_hash,
        generate_series(1, ${batch.size}::integer) as ordinal
    ) g
    left join users u on u.app_id = g.app_id and u.user_id = g.user_id
  `.execute(tx)
  return new UserStates(rows[0]?.states ?? '')
}

/**
 * Merges the new values into the profiles of registered users, in one statement and one round trip. A profile that already
 * holds all of them is not written.
 *
 * Takes what {@link lookUpUsers} gave in the same transaction. A user who was deleted since is passed over.
 */
export async function mergeProfiles(
  tx: Database,
  appId: number,
  batch: ProfileBatch,
  states: UserStates,
): Promise<void> {
  const users = states.toUpdate(batch)
  if (users.length === 0) return
  // Fenced, so that each document is parsed once.
  await sql`
    /* prepared */
    update users u
    set attributes = u.attributes || g.document, row_hash = nullif(g.row_hash, ${noHash}::uuid), updated_at = now()
    from (
      select ${appId}::integer as app_id, unnest(${batch.idArray(users)}::text[]) as user_id,
        unnest(${batch.documentArray(users)}::text[])::jsonb as document, unnest(${batch.hashArray(users)}::uuid[]) as row_hash
      offset 0
    ) g
    where u.app_id = g.app_id and u.user_id = g.user_id and not u.attributes @> g.document
  `.execute(tx)
}
