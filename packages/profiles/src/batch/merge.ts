import { type CompiledQuery, copyInto, type Database, lookUpBySets, type RawBuilder, sql } from '@sluice/database'
import { deletedSince, lookUpDeleted } from '../deleted-users.ts'
import { overExistingProfile } from '../existing-profile.ts'
import { keepUsers } from '../users-lock.ts'
import { copyColumns } from './copy-rows.ts'
import type { ProfileBatch } from './profile-batch.ts'

/** Stands for no hash in an array, and is never stored: so no profile is taken for up to date by it. */
const noHash = '00000000-0000-0000-0000-000000000000'

/** What is known of a user. */
const unregistered = 0
const withoutProfile = 1
const outdated = 2
const upToDate = 3
const deleted = 4

/** What the database knows of a batch's users, by their numbers in it. */
export class UserStates {
  /** Users of the app, whether of this batch or not, were deleted after the rows were sent. */
  readonly followDeletion: boolean
  readonly #states: Uint8Array

  constructor(states: Uint8Array, followDeletion: boolean) {
    this.#states = states
    this.followDeletion = followDeletion
  }

  /** Some of the users were seen to have a profile. */
  get hasProfiles(): boolean {
    return this.#states.includes(outdated) || this.#states.includes(upToDate)
  }

  isRegistered(user: number): boolean {
    return this.#states[user] !== unregistered
  }

  /**
   * There is nothing to check or to write: the profile holds all values of the user's row, or the user was deleted after the
   * row was sent, so that the row counts as applied and then deleted.
   */
  isSettled(user: number): boolean {
    return this.#states[user] === upToDate || this.#states[user] === deleted
  }

  /** Registered users with new values that have no profile yet. */
  toInsert(batch: ProfileBatch): number[] {
    return this.#withDocument(batch, withoutProfile)
  }

  /** Users with new values that their profile is not known to hold. */
  toUpdate(batch: ProfileBatch): number[] {
    return this.#withDocument(batch, outdated)
  }

  #withDocument(batch: ProfileBatch, state: number): number[] {
    const users: number[] = []
    for (let user = 0; user < batch.size; user++) {
      if (this.#states[user] === state && batch.hasDocument(user)) users.push(user)
    }
    return users
  }
}

/**
 * What a transaction selects, an expression, before it looks the users of a batch up: keeps the app's users from being deleted
 * until it ends, and has them looked up as a set.
 */
export function beforeLookUp(appId: number): RawBuilder<unknown> {
  return sql`${keepUsers(appId)}, ${lookUpBySets()}`
}

/**
 * Looks the users of a batch up: who is registered, and whose profile is known to hold the new values, because the last row
 * that was merged into it was the same. Of such a row no value is even looked at. Nor is one of a user who was deleted after
 * `sentAt`, when the rows were sent, as Postgres writes it.
 *
 * With `expectNone` nobody is looked for among profiles: the users are taken to have none, as {@link mergeProfiles} finds out.
 * Runs in a transaction that has selected {@link beforeLookUp}.
 */
export async function lookUpUsers(
  tx: Database,
  appId: number,
  batch: ProfileBatch,
  sentAt: string,
  expectNone: boolean,
): Promise<UserStates> {
  const states = new Uint8Array(batch.size).fill(upToDate)
  if (batch.size === 0) return new UserStates(states, await askDeletedSince(tx, appId, sentAt))
  const found = expectNone
    ? { without: [...states.keys()], followDeletion: false }
    : await lookUpProfiles(tx, appId, batch, sentAt, states)
  let { followDeletion } = found
  // Who has a profile is a user: only the others have to be looked for among them.
  for (const user of found.without) states[user] = withoutProfile
  if (found.without.length > 0) {
    const answer = await lookUpRegistrations(tx, appId, batch, sentAt, found.without, states)
    followDeletion ||= answer.followDeletion
  }
  if (followDeletion) {
    for (const user of await lookUpDeleted(tx, appId, batch, sentAt)) states[user] = deleted
  }
  return new UserStates(states, followDeletion)
}

/** A batch without a readable user ID has nothing to look up, so it asks by itself. */
async function askDeletedSince(tx: Database, appId: number, sentAt: string): Promise<boolean> {
  const { rows } = await sql<{ deletions: boolean }>`
    /* prepared */
    select ${deletedSince(appId, sentAt)} as deletions
  `.execute(tx)
  return rows[0]?.deletions === true
}

/** Gives the users who have no profile, and marks the profiles that have not the same hash. */
async function lookUpProfiles(
  tx: Database,
  appId: number,
  batch: ProfileBatch,
  sentAt: string,
  states: Uint8Array,
): Promise<{ without: number[]; followDeletion: boolean }> {
  const { rows } = await sql<{ without: number[] | null; changed: number[] | null; deletions: boolean }>`
    /* prepared */
    with given as materialized (select ${batch.idArray()}::text[] as user_ids)
    select array_agg(g.number) filter (where p.user_id is null) as without,
      array_agg(g.number) filter (where p.user_id is not null and p.row_hash is distinct from g.row_hash) as changed,
      ${deletedSince(appId, sentAt)} as deletions
    from (
      select unnest((select user_ids from given)) as user_id, unnest(${batch.hashArray()}::uuid[]) as row_hash,
        generate_series(0, ${batch.size}::integer - 1) as number
      offset 0
    ) g
    left join (
      select user_id, row_hash from profiles
      where app_id = ${appId}::integer and user_id = any((select user_ids from given)::text[])
      offset 0
    ) p on p.user_id = g.user_id
  `.execute(tx)
  for (const user of rows[0]?.changed ?? []) states[user] = outdated
  return { without: rows[0]?.without ?? [], followDeletion: rows[0]?.deletions === true }
}

/** Marks those of the users given who are not registered. */
async function lookUpRegistrations(
  tx: Database,
  appId: number,
  batch: ProfileBatch,
  sentAt: string,
  users: readonly number[],
  states: Uint8Array,
): Promise<{ followDeletion: boolean }> {
  const { rows } = await sql<{ missing: number[] | null; deletions: boolean }>`
    /* prepared */
    with given as materialized (select ${batch.idArray(users)}::text[] as user_ids)
    select array_agg(g.number) as missing, ${deletedSince(appId, sentAt)} as deletions
    from (
      select unnest((select user_ids from given)) as user_id, generate_series(0, ${users.length}::integer - 1) as number
      offset 0
    ) g
    left join (
      select user_id from users
      where app_id = ${appId}::integer and user_id = any((select user_ids from given)::text[])
      offset 0
    ) u on u.user_id = g.user_id
    where u.user_id is null
  `.execute(tx)
  for (const index of rows[0]?.missing ?? []) states[users[index] ?? 0] = unregistered
  return { followDeletion: rows[0]?.deletions === true }
}

/**
 * What merges the new values into the profiles of registered users, for `writeTogether`: a statement for those who have no
 * profile yet, and one for the others. A profile that already holds all of its new values is not written.
 *
 * Takes what {@link lookUpUsers} gave in the transaction that these statements end. Where another one has given one of the
 * users a first profile since, they throw what `retryConflicts` takes for a conflict; with `isContested` they go on with that
 * profile. Inserts that look for one take two thirds longer than the copy.
 */
export function mergeProfiles(
  tx: Database,
  appId: number,
  batch: ProfileBatch,
  states: UserStates,
  isContested: boolean,
): CompiledQuery[] {
  const [toInsert, toUpdate] = [states.toInsert(batch), states.toUpdate(batch)]
  const statements: CompiledQuery[] = []
  if (toInsert.length > 0) statements.push(insertProfiles(tx, appId, batch, toInsert, isContested))
  if (toUpdate.length > 0) statements.push(updateProfiles(tx, appId, batch, toUpdate))
  return statements
}

function insertProfiles(
  tx: Database,
  appId: number,
  batch: ProfileBatch,
  users: readonly number[],
  isContested: boolean,
): CompiledQuery {
  if (!isContested) return copyInto('profiles', copyColumns, batch.copyRows(appId, users))
  return sql`
    /* prepared */
    insert into profiles as p (app_id, user_id, attributes, row_hash, updated_at)
    select ${appId}::integer, g.user_id, g.document::jsonb, nullif(g.row_hash, ${noHash}::uuid), now()
    from unnest(${batch.idArray(users)}::text[], ${batch.documentArray(users)}::text[], ${batch.hashArray(users)}::uuid[])
      as g (user_id, document, row_hash)
    ${overExistingProfile}
  `.compile(tx)
}

function updateProfiles(tx: Database, appId: number, batch: ProfileBatch, users: readonly number[]): CompiledQuery {
  // Fenced, so that each document is parsed once.
  return sql`
    /* prepared */
    with given as materialized (select ${batch.idArray(users)}::text[] as user_ids)
    update profiles p
    set attributes = p.attributes || g.document, row_hash = nullif(g.row_hash, ${noHash}::uuid), updated_at = now()
    from (
      select unnest((select user_ids from given)) as user_id, unnest(${batch.documentArray(users)}::text[])::jsonb as document,
        unnest(${batch.hashArray(users)}::uuid[]) as row_hash
      offset 0
    ) g
    where p.app_id = ${appId}::integer and p.user_id = any((select user_ids from given)::text[]) and p.user_id = g.user_id
      and not p.attributes @> g.document
  `.compile(tx)
}
