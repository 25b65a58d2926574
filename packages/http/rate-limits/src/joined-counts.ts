import { joinCalls } from '@sluice/joined-calls'
import type { Tally } from './counters.ts'

/** A request's place among the requests of its window. */
export interface Position {
  /** 1 for the first request of the window. */
  position: number
  /** Remaining time of the window. */
  resetAfterMs: number
}

/**
 * Joins concurrent counts of a key, so that its requests do not wait for each other in the store. Requests that arrive
 * while a count is in flight are then counted by one call.
 *
 * `add` adds a number of requests to a key's count. Returns a function that counts one request. It throws the error of
 * `add`.
 */
export function joinedCounts(add: (key: string, requests: number) => Promise<Tally>) {
  const count = joinCalls<undefined, Position>(async (key, joined) => {
    const { requests, resetAfterMs } = await add(key, joined.length)
    const preceding = requests - joined.length
    return joined.map((_, index) => ({ position: preceding + index + 1, resetAfterMs }))
  })
  return (key: string): Promise<Position> => count(key, undefined)
}
