import { hasOutsideCause, isConnectionFailure, isOutOfRoom, ranOutOfTime } from '@sluice/database'
import { StorageFull } from '@sluice/storage'
import type { ImportContext } from '../context.ts'

/** Longest pause before another try. `runnable_import` of the schema knows it too. */
const longestRetryDelayMs = 60_000

/**
 * Pause before another try during an outage: long enough to spare the failing server, short enough to continue soon.
 */
const outageDelayMs = 10_000

/** Pause after a connection to Postgres broke, which a new connection has replaced, or before smaller transactions. */
const shortDelayMs = 2_000

/**
 * Returns the pause before another try, in ms: up to 2 s, 4 s, 8 s … a minute after tries that count, and otherwise up
 * to 10 s or 2 s. A part of up to half is random.
 */
export function retryPause(error: unknown, tries: number, counts: boolean): number {
  const uncountedMs = isConnectionFailure(error) || ranOutOfTime(error) ? shortDelayMs : outageDelayMs
  const longestMs = counts ? Math.min(1000 * 2 ** tries, longestRetryDelayMs) : uncountedMs
  return Math.round(longestMs * (1 - Math.random() / 2))
}

/**
 * Returns whether an error is an outage, so that the try does not count: storage or Postgres has no room, storage
 * cannot be reached, or Postgres ended the statement for a cause outside the import.
 */
export async function isOutage(error: unknown, { storage }: Pick<ImportContext, 'storage'>): Promise<boolean> {
  if (error instanceof StorageFull || isOutOfRoom(error) || hasOutsideCause(error)) return true
  return await storage.check().then(
    () => false,
    () => true,
  )
}
