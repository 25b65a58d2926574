import { sql } from 'kysely'
import type { Database } from './connect.ts'

/**
 * Has the rest of a transaction look rows up by index, one by one, whatever the planner believes about a table that was
 * empty a moment ago: a batch must never read a whole table.
 */
export async function lookUpByIndex(tx: Database): Promise<void> {
  await sql.raw('set local enable_hashjoin = off; set local enable_mergejoin = off').execute(tx)
}
