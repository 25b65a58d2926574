import { circuitBreaker } from './circuit-breaker.ts'
import { joinedCounts, type Place } from './joined-counts.ts'
import { openLocalCounts } from './local-counts.ts'
import { openPostgresCounters } from './postgres.ts'
import { openRedisCounters } from './redis.ts'

/** Where the counts live: the store of the queues, which all API processes share. */
export type RateLimitStore = { redisUrl: string } | { databaseUrl: string }

/** So many requests in each fixed window of `window` ms, which are whole seconds. */
export interface RateLimit {
  requests: number
  window: number
}

/** Where whoever asked stands after a request was counted. */
export interface Count {
  /** False when the request came over the limit. */
  allowed: boolean
  /** Most requests in a window. */
  limit: number
  /** Requests left in the window. */
  remaining: number
  /** How long the window lasts yet, ms. */
  resetAfter: number
}

export interface RateLimiter<Name extends string> {
  /**
   * Counts a request for a function, of an app (its ID) or of whatever else the function is limited by; refused requests count too, and never prolong the window.
   *
   * If the store does not answer in time, this process counts the request alone, from what the store said last.
   */
  count(whose: number | string, name: Name): Promise<Count>
  close(): Promise<void>
}

/** Returns after how many whole seconds (`Retry-After`) a client may ask again that has to wait for so many ms. */
export function retryAfter(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}

/** A store that failed this often in a row is left alone for `pause` ms. */
const tolerated = 3
const pause = 1_000

/** What {@link openRateLimiter} takes beside the store and the limits. */
export interface RateLimiterOptions {
  /** How long a request waits for its count, ms. */
  deadline: number
  /** Accepts the error of each request that the store did not count. */
  onFailure(error: unknown): void
}

/** How long opening waits for the store, ms: a process starts also while it is away. */
const patience = 1_000

/**
 * Opens the limits of all functions on a store (service.md, Rate rules). A window begins with an app's first request.
 */
export async function openRateLimiter<Name extends string>(
  store: RateLimitStore,
  limits: Record<Name, RateLimit>,
  { deadline, onFailure }: RateLimiterOptions,
): Promise<RateLimiter<Name>> {
  const counters = 'redisUrl' in store ? openRedisCounters(store.redisUrl) : openPostgresCounters(store.databaseUrl)
  await Promise.race([counters.connected, new Promise((resolve) => setTimeout(resolve, patience).unref())])
  const names = Object.keys(limits) as Name[]
  const countOf = new Map(names.map((name) => [name, joinedCounts(counters.counter(limits[name].window))]))
  const local = openLocalCounts()
  const guarded = circuitBreaker({ deadline, tolerated, pause })

  return {
    async count(whose, name) {
      const count = countOf.get(name)
      if (count === undefined) throw new Error(`there is no limit for ${name}`)
      const key = `${whose}:${name}`
      let counting: Promise<Place> | undefined
      try {
        const place = await guarded(() => {
          counting = count(key)
          return counting
        })
        return standing(limits[name], local.counted(key, place))
      } catch (error) {
        onFailure(error)
        counting?.then(
          () => local.late(key),
          () => {},
        )
        return standing(limits[name], local.missed(key, limits[name].window))
      }
    },
    close: () => counters.close(),
  }
}

function standing({ requests }: RateLimit, { place, resetAfter }: Place): Count {
  return { allowed: place <= requests, limit: requests, remaining: Math.max(0, requests - place), resetAfter }
}
