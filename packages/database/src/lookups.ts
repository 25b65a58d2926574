import { type RawBuilder, sql } from 'kysely'
import type { Database } from './connect.ts'

/**
 * Builds expressions to select that make the rest of a transaction look up whole sets of keys in an index at once. The
 * later statement has `user_id = any(…)` beside `app_id = …`, and joins the rows that it finds by hash.
 *
 * Postgres finds keys that lie close together in one walk along the index, at a fraction of the cost of single lookups.
 */
export function lookUpBySets(): RawBuilder<unknown> {
  const off = ['nestloop', 'mergejoin', 'bitmapscan'].map((way) => `set_config('enable_${way}', 'off', true)`)
  return sql.raw(off.join(', '))
}

/**
 * Makes the rest of a transaction look up rows in an index, one by one. The planner may still believe that a table is
 * empty, but a batch must never read a whole table.
 *
 * Each such statement must also join on `app_id`, from a column of the keys. With `app_id = $1` beside the join, the
 * planner considers an app that its statistics lack to be empty. It then compares each row with all users of the app.
 */
export async function lookUpByIndex(tx: Database): Promise<void> {
  await sql.raw('set local enable_hashjoin = off; set local enable_mergejoin = off').execute(tx)
}
