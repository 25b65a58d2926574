import { type RawBuilder, sql } from '@sluice/database'

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
