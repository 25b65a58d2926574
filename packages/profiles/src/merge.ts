import { type Database, encodeTextArray, lookUpByIndex, sql } from '@sluice/database'

/** What one user gets in a batch. */
export interface UserUpdate {
  userId: Buffer
  /** JSON object with the new values by key; null only asks whether the user is registered. */
  document: string | null
}

/**
 * Merges values into the profiles of registered users, in one statement and one round trip. A profile that already
 * holds all the values is not written.
 *
 * Takes the app, and each user at most once; a document may name a key twice, the later value wins. Gives for each
 * update, in order, whether its user is registered. Runs in the caller's transaction.
 */
export async function mergeProfiles(tx: Database, appId: number, updates: readonly UserUpdate[]): Promise<boolean[]> {
  if (updates.length === 0) return []
  await lookUpByIndex(tx)
  const userIds = encodeTextArray(updates.map((update) => update.userId))
  const documents = encodeTextArray(updates.map((update) => update.document))
  // `found` is fenced, so that each document is parsed once.
  const result = await sql<{ flags: string }>`
    with given as materialized (
      select ordinal, user_id, document::jsonb as document
      from unnest(${userIds}::text[], ${documents}::text[]) with ordinality as g (user_id, document, ordinal)
    ), found as materialized (
      select g.ordinal, g.document, u.user_id, u.attributes @> g.document as unchanged
      from given g left join users u on u.app_id = ${appId}::integer and u.user_id = g.user_id
    ), written as (
      update users u set attributes = u.attributes || f.document, updated_at = now()
      from found f
      where u.app_id = ${appId}::integer and u.user_id = f.user_id and not f.unchanged
    )
    select string_agg(case when user_id is null then '-' else '+' end, '' order by ordinal) as flags from found
  `.execute(tx)
  const flags = result.rows[0]?.flags ?? ''
  return Array.from(flags, (flag) => flag === '+')
}
