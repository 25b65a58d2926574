import { type Database, sql } from '@sluice/database'

/** First key of the lock, which no other lock uses: "dele" in ASCII. */
const lockSpace = 0x64656c65

/**
 * Locks an app's deletions until the transaction ends. Two requests of the app may name the same user, so two processes
 * must not run them at the same time.
 */
export async function lockApp(tx: Database, appId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${lockSpace}::integer, ${appId}::integer)`.execute(tx)
}
