import { type RawBuilder, sql } from 'kysely'
import type { Database } from './connect.ts'

/**
 * Has the rest of a transaction look rows up by the index of their key, a set of keys at once: the statement has
 * `user_id = any(…)` beside `app_id = …`, and then joins what that gives by hashes. Keys that lie close together in the
 * index are found in one walk along it, at a fraction of what single look-ups cost. Gives expressions to select.
 */
export function lookUpBySets(): RawBuilder<unknown> {
  const off = ['nestloop', 'mergejoin', 'bitmapscan'].map((way) => `set_config('enable_${way}', 'off', true)`)
  return sql.raw(off.join(', '))
}

/**
 * Has the rest of a transaction look rows up by index, one by one, whatever the planner believes about a table that was
 * empty a moment ago: a batch must never read a whole table.
 *
 * Such a statement joins on `app_id` as well, from a column of what is looked up: with `app_id = $1` beside the join the
 * planner takes an app that its statistics do not know for empty, and compares each row with all users of the app.
 */
export async function lookUpByIndex(tx: Database): Promise<void> {
  await sql.raw('set local enable_hashjoin = off; set local enable_mergejoin = off').execute(tx)
}
