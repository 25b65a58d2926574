import { acquireLock, type Database } from '@sluice/database'

/**
 * Locks an app's deletions until the transaction ends. Two requests of the app may name the same user, so two processes
 * must not run them at the same time.
 */
export async function lockApp(tx: Database, appId: number): Promise<void> {
  await acquireLock(tx, 'deletionsOfApp', appId)
}
