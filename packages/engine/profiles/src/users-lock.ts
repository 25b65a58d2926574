import { acquireLock, advisoryLocks, type Database, type RawBuilder, sql } from '@sluice/database'

/**
 * Returns an expression that locks the users of an app against deletion. A transaction that selects it holds the lock
 * until it ends, and can insert a profile for any registered user. Any number of transactions may hold this lock, and
 * no row of a user is locked.
 */
export function keepUsers(appId: number): RawBuilder<unknown> {
  return sql`pg_advisory_xact_lock_shared(${advisoryLocks.usersOfApp}::integer, ${appId}::integer)`
}

/**
 * Locks the users of an app for a transaction that deletes some, with their profiles. Waits for transactions that keep
 * the users ({@link keepUsers}), and makes later ones wait until the deleting transaction ends. A deletion must acquire
 * this lock before any other lock that imports acquire as well.
 */
export async function lockUsersForDeletion(tx: Database, appId: number): Promise<void> {
  await acquireLock(tx, 'usersOfApp', appId)
}
