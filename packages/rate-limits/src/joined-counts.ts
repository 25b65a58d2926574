import { joinCalls } from '@sluice/joined-calls'
import type { Tally } from './counters.ts'

/** The place of one request in its window: the first has 1. */
export interface Place {
  place: number
  /** How long the window lasts yet, ms. */
  resetAfter: number
}

/**
 * Counts requests so that those of one key never wait for each other in the store: those that come while a count is under
 * way are then counted by one call.
 *
 * Takes how to add a number of requests to a key's count. Gives a function that counts one request, and throws what
 * adding threw.
 */
export function joinedCounts(add: (key: string, requests: number) => Promise<Tally>) {
  const count = joinCalls<undefined, Place>(async (key, joined) => {
    const { requests, resetAfter } = await add(key, joined.length)
    const before = requests - joined.length
    return joined.map((_, index) => ({ place: before + index + 1, resetAfter }))
  })
  return (key: string): Promise<Place> => count(key, undefined)
}
