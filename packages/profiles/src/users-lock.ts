import { type Database, type RawBuilder, sql } from '@sluice/database'

/** First key of the lock, which no other lock uses: "user" in ASCII. */
const lockSpace = 0x75736572

/**
 * Returns an expression to select that keeps the users of an app from being deleted until the transaction ends. A
 * profile can then be inserted for any user that is registered. Any number of transactions may hold this lock, and no
 * user is locked.
 */
export function keepUsers(appId: number): RawBuilder<unknown> {
  return sql`pg_advisory_xact_lock_shared(${lockSpace}::integer, ${appId}::integer)`
}

/**
 * Locks the users of an app for a transaction that deletes some, with their profiles. Waits for transactions that keep
 * the users ({@link keepUsers}), and makes later ones wait until it ends. Must precede any other lock that importing
 * takes.
 */
export async function lockUsersForDeletion(tx: Database, appId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${lockSpace}::integer, ${appId}::integer)`.execute(tx)
}
