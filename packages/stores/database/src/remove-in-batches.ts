import { setTimeout as delay } from 'node:timers/promises'
import type { RawBuilder } from 'kysely'
import type { Database } from './connect.ts'
import { retryConflicts } from './retry.ts'

/** Number of rows that one statement removes: so few that no other statement notices its locks. */
export const rowsAtATime = 500

/** The pause after a batch ÷ the batch's time. The removals are never urgent. */
const restPerBatch = 4

/**
 * Runs a statement that removes at most {@link rowsAtATime} rows, until it removes fewer. After each batch it pauses
 * for a multiple of the batch's time, so that it uses at most a fifth of one connection's time.
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
    // An abort ends the pause, and then the loop.
    await delay(restPerBatch * (performance.now() - began), undefined, { signal: shutdown }).catch(() => {})
  }
  return removed
}
