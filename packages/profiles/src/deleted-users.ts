import { type Database, type RawBuilder, sql } from '@sluice/database'
import type { ProfileBatch } from './batch/profile-batch.ts'

/**
 * Returns an expression for the salted hash of a user ID, which is its key in `recently_deleted_users`
 * (service.md, States and transitions).
 */
export function recentlyDeletedHash(appId: number, userId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`sha256((select user_hash_salt from apps where app_id = ${appId}::integer) || convert_to(${userId}, 'UTF8'))`
}

/**
 * Returns an expression that tells whether any user ID of the app was deleted after data with this number was sent. It
 * costs one lookup in an index, so statements that run anyway include it.
 */
export function deletedSince(appId: number, dataOrder: number): RawBuilder<unknown> {
  return sql`exists (
    select from recently_deleted_users where app_id = ${appId}::integer and data_order > ${dataOrder}::bigint
  )`
}

/** Returns the numbers of a batch's users whose IDs were deleted after data with this number was sent. */
export async function lookUpDeleted(
  tx: Database,
  appId: number,
  batch: ProfileBatch,
  dataOrder: number,
): Promise<readonly number[]> {
  const { rows } = await sql<{ deleted: number[] | null }>`
    /* prepared */
    with given as materialized (
      select number, ${recentlyDeletedHash(appId, sql`user_id`)} as user_hash
      from (
        select unnest(${batch.idArray()}::text[]) as user_id, generate_series(0, ${batch.size}::integer - 1) as number
        offset 0
      ) named
    )
    select array_agg(g.number) as deleted
    from given g
    join (
      select user_hash from recently_deleted_users
      where app_id = ${appId}::integer and user_hash = any((select array_agg(user_hash) from given)::bytea[])
        and data_order > ${dataOrder}::bigint
      offset 0
    ) d on d.user_hash = g.user_hash
  `.execute(tx)
  return rows[0]?.deleted ?? []
}
