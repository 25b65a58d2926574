import { type Database, prepared } from '@sluice/database'
import type { Columns } from '../columns/columns.ts'

/** Number of batches beside which nobody may wait before batches are joined: at the beginning, and after a wait. */
const [firstQuietBatches, quietBatches] = [16, 2_000]

/**
 * Returns a function that decides whether the next batches may be joined to a larger transaction. It must be called
 * once for each transaction, and looks whether somebody waits.
 *
 * A profile update of a user waits for the transaction that writes the user, for up to a tenth of a second. So batches
 * are joined only if nobody has waited for a while. Types are settled batch by batch, and keys are registered by a
 * batch alone, so joining must wait for both.
 */
export function joinWhileNobodyWaits(db: Database, columns: Columns): () => Promise<boolean> {
  // Number of batches until batches are joined, if nobody waits until then.
  let left = firstQuietBatches
  return async () => {
    left = (await someoneWaits(db)) ? quietBatches : left - 1
    return left < 0 && columns.untyped.length === 0 && columns.unregistered.length === 0
  }
}

/** Whether a transaction of this database waits for a row that another one has written. */
async function someoneWaits(db: Database): Promise<boolean> {
  const { rows } = await prepared<{ waits: boolean }>`
    select exists (
      select from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'transactionid' and not l.granted and a.datname = current_database()
    ) as waits
  `.execute(db)
  return rows[0]?.waits === true
}
