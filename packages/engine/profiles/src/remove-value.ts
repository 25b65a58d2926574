import { type Database, sql } from '@sluice/database'

/**
 * Removes a key's value from the profile of one user (second-day.md §2, Removing a value). Changes nothing if the user
 * has no such value.
 *
 * Returns whether the user and the key are registered. Clears the row hash: the profile no longer holds the row of an
 * earlier import, so importing that row again sets the value again.
 */
export async function removeValue(db: Database, appId: number, userId: string, key: string): Promise<boolean> {
  // Postgres refuses NUL, and would receive half a surrogate pair as another character. No user ID or key contains
  // either.
  if ([userId, key].some((text) => text.includes('\0') || !text.isWellFormed())) return false
  const { rows } = await sql<{ is_registered: boolean }>`
    with known as materialized (
      select from users u join profile_keys k on k.app_id = u.app_id
      where u.app_id = ${appId}::integer and u.user_id = ${userId}::text and k.key = ${key}::text
    ), removed as (
      update profiles p set attributes = p.attributes - ${key}::text, row_hash = null, updated_at = now()
      where p.app_id = ${appId}::integer and p.user_id = ${userId}::text and p.attributes ? ${key}::text
        and exists (select from known)
    )
    select exists (select from known) as is_registered
  `.execute(db)
  return rows[0]?.is_registered === true
}
