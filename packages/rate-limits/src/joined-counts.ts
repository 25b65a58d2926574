import type { RateLimiterRes } from 'rate-limiter-flexible'

/** The place of one request in its window: the first has 1. */
export interface Place {
  place: number
  /** How long the window lasts yet, ms. */
  resetAfter: number
}

interface Waiting {
  resolve(place: Place): void
  reject(error: unknown): void
}

/**
 * Counts requests so that those of one key never wait for each other in the store: while a count is under way, further
 * ones gather and are then counted by one call. With many clients of one app that is a fraction of the calls.
 *
 * Takes how to add a number of requests to a key's count. Gives a function that counts one request, and throws what
 * adding threw.
 */
export function joinedCounts(add: (key: string, requests: number) => Promise<RateLimiterRes>) {
  /** Requests that wait, by key; a key is there while a call is under way. */
  const waiting = new Map<string, Waiting[]>()

  async function countAll(key: string, requests: readonly Waiting[]): Promise<void> {
    try {
      const { consumedPoints, msBeforeNext } = await add(key, requests.length)
      const before = consumedPoints - requests.length
      for (const [index, { resolve }] of requests.entries()) {
        resolve({ place: before + index + 1, resetAfter: msBeforeNext })
      }
    } catch (error) {
      for (const { reject } of requests) reject(error)
    }
  }

  async function countUntilNoneWaits(key: string, first: Waiting): Promise<void> {
    for (let requests = [first]; requests.length > 0; requests = waiting.get(key) ?? []) {
      waiting.set(key, [])
      await countAll(key, requests)
    }
    waiting.delete(key)
  }

  return (key: string): Promise<Place> =>
    new Promise((resolve, reject) => {
      const request = { resolve, reject }
      const others = waiting.get(key)
      if (others === undefined) void countUntilNoneWaits(key, request)
      else others.push(request)
    })
}
