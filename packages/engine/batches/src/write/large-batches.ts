import { type Database, prepared } from '@sluice/database'
import { registeredKeys } from '@sluice/profiles'
import { checkDeclaredTypes } from '../columns/check-columns.ts'
import type { Columns } from '../columns/columns.ts'

/** Number of batches beside which nobody may wait before batches are joined: at the beginning, and after a wait. */
const [firstQuietBatches, quietBatches] = [16, 2_000]

/**
 * Returns a function that decides whether the next batches may be joined to a larger transaction. It must be called
 * once for each transaction, and looks whether somebody waits. In the same query it learns whether keys were enabled or
 * disabled: the next batch then begins with the present state of the keys (changes.md §4), while batches in flight keep
 * theirs. It throws `FileError` if a declared key was registered with another type and disabled.
 *
 * A profile update of a user waits for the transaction that writes the user, for up to a tenth of a second. So batches
 * are joined only if nobody has waited for a while. Types are settled batch by batch, and keys are registered by a
 * batch alone, so joining must wait for both.
 */
export function joinWhileNobodyWaits(db: Database, appId: number, columns: Columns): () => Promise<boolean> {
  // Number of batches until batches are joined, if nobody waits until then.
  let left = firstQuietBatches
  let version: number | undefined
  return async () => {
    const found = await lookAround(db, appId)
    if (found?.version !== version) {
      version = found?.version
      columns.followKeys(await registeredKeys(db, appId))
      checkDeclaredTypes(columns)
    }
    left = found?.waits ? quietBatches : left - 1
    return left < 0 && columns.untyped.length === 0 && columns.unregistered.length === 0
  }
}

/**
 * Returns whether a transaction of this database waits for a row that another one has written, and how often keys of
 * the app were changed.
 */
async function lookAround(db: Database, appId: number): Promise<{ waits: boolean; version: number } | undefined> {
  const { rows } = await prepared<{ waits: boolean; version: number }>`
    select keys_version as version, exists (
      select from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'transactionid' and not l.granted and a.datname = current_database()
    ) as waits
    from apps where app_id = ${appId}::integer
  `.execute(db)
  return rows[0]
}
