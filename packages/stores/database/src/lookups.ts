import { type RawBuilder, sql } from 'kysely'
import type { Database } from './connect.ts'

/**
 * Builds expressions for a `select`. After the `select`, the rest of the transaction looks up whole sets of keys in an
 * index at once. A lookup must have `user_id = any(…)` beside `app_id = …`. Postgres then joins the found rows by hash.
 *
 * Postgres finds keys that lie close together in one walk along the index, at a fraction of the cost of single lookups.
 */
export function lookUpBySets(): RawBuilder<unknown> {
  const off = ['nestloop', 'mergejoin', 'bitmapscan'].map((way) => `set_config('enable_${way}', 'off', true)`)
  return sql.raw(off.join(', '))
}

/**
 * Makes the rest of a transaction look up rows in an index, one by one. Otherwise the planner may still believe that a
 * table is empty, and read the whole table for each batch.
 *
 * The keys of each such statement must have a column `app_id`, and the statement must join on that column, too. With
 * `app_id = $1` beside the join instead, the planner considers an app to be empty if its statistics lack the app. It
 * then compares each row with all users of the app.
 */
export async function lookUpByIndex(tx: Database): Promise<void> {
  await sql.raw('set local enable_hashjoin = off; set local enable_mergejoin = off').execute(tx)
}
