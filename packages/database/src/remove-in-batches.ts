import { setTimeout as delay } from 'node:timers/promises'
import type { RawBuilder } from 'kysely'
import type { Database } from './connect.ts'
import { retryConflicts } from './retry.ts'

/** Rows that one statement removes: so few that no other statement notices its locks. */
export const rowsAtATime = 500

/**
 * Runs a statement that removes at most {@link rowsAtATime} rows, until it removes fewer. After each batch it pauses as
 * long as the batch took, so that it uses at most half of one connection's time.
 *
 * Returns how many rows were removed. Ends early if the process shuts down.
 */
export async function removeInBatches(
  db: Database,
  statement: RawBuilder<unknown>,
  shutdown: AbortSignal | undefined,
): Promise<number> {
  let removed = 0
  while (shutdown?.aborted !== true) {
    const began = performance.now()
    const { numAffectedRows = 0n } = await retryConflicts(() => statement.execute(db))
    removed += Number(numAffectedRows)
    if (Number(numAffectedRows) < rowsAtATime) break
    await delay(performance.now() - began, undefined, { signal: shutdown }).catch(() => {}) // the loop ends then
  }
  return removed
}
