import { type Database, type RawBuilder, sql } from '@sluice/database'

/** First key of the lock, so that it is nobody else's: "user" in ASCII. */
const lockSpace = 0x75736572

/**
 * Keeps the users of an app from being deleted until the transaction ends: a user who was found to be registered can be
 * given a profile then. Any number of transactions may do so at once, and none of them locks a user. Gives an expression
 * to select.
 */
export function keepUsers(appId: number): RawBuilder<unknown> {
  return sql`pg_advisory_xact_lock_shared(${lockSpace}::integer, ${appId}::integer)`
}

/**
 * Lets a transaction delete users of an app, with their profiles: waits until nobody keeps them any more, and has whoever
 * wants to keep them wait until it ends. Comes before any other lock that importing takes.
 */
export async function lockUsersForDeletion(tx: Database, appId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${lockSpace}::integer, ${appId}::integer)`.execute(tx)
}
