import { type Database, isDue, sql } from '@sluice/database'
import { keptHours, keyLeaseMs } from './keys.ts'

/** Maximum number of keys that one statement removes. */
const keysAtATime = 5_000

/**
 * Removes keys whose 24 hours are over. A key whose request is in flight stays. Safe to run in several processes at
 * once. Returns how many keys it removed.
 */
export async function removeOldKeys(db: Database, shutdown?: AbortSignal): Promise<number> {
  let removed = 0
  for (;;) {
    const { numAffectedRows = 0n } = await sql`
      delete from idempotency_keys where (app_id, function, key) in (
        select app_id, function, key from idempotency_keys
        where created_at < now() - make_interval(hours => ${keptHours}) and ${isDue(sql`lease_until`, keyLeaseMs)}
        order by created_at limit ${keysAtATime} for update skip locked
      )
    `.execute(db)
    removed += Number(numAffectedRows)
    if (numAffectedRows < BigInt(keysAtATime) || shutdown?.aborted) return removed
  }
}
