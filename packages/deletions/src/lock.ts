import { type Database, sql } from '@sluice/database'

/** First key of the lock, so that it is nobody else's: "dele" in ASCII. */
const lockSpace = 0x64656c65

/** Two requests may name one user: of an app's deletions one transaction runs at a time. */
export async function lockApp(tx: Database, appId: number): Promise<void> {
  await sql`select pg_advisory_xact_lock(${lockSpace}::integer, ${appId}::integer)`.execute(tx)
}
