import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import { circuitBreaker } from './circuit-breaker.ts'
import { openPostgresCounters } from './postgres.ts'
import { openRedisCounters } from './redis.ts'

/** Where the counts live: the store of the queues, which all API processes share. */
export type RateLimitStore = { redisUrl: string } | { databaseUrl: string }

/** So many requests in each fixed window of `window` ms, which are whole seconds. */
export interface RateLimit {
  requests: number
  window: number
}

/** Where an app stands after a request was counted. */
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
   * Counts a request of an app for a function; refused requests count too, and never prolong the window.
   *
   * Gives undefined where the store did not answer within {@link deadline} ms: the request was not counted and may pass.
   */
  count(appId: number, name: Name): Promise<Count | undefined>
  close(): Promise<void>
}

/** How long a request waits for its count, ms. */
const deadline = 100

/** A store that failed this often in a row is left alone for `pause` ms. */
const tolerated = 3
const pause = 1_000

/**
 * Opens the limits of all functions on a store (service.md, Rate rules). A window begins with an app's first request.
 *
 * Takes the store, the limit of each function, and what to do with the error of a request that was not counted.
 */
export async function openRateLimiter<Name extends string>(
  store: RateLimitStore,
  limits: Record<Name, RateLimit>,
  onFailure: (error: unknown) => void,
): Promise<RateLimiter<Name>> {
  const counters =
    'redisUrl' in store ? await openRedisCounters(store.redisUrl, deadline) : openPostgresCounters(store.databaseUrl)
  const names = Object.keys(limits) as Name[]
  const counterOf = new Map(
    names.map((name) => {
      const { requests, window } = limits[name]
      return [name, counters.counter({ points: requests, duration: window / 1000 })]
    }),
  )
  const guarded = circuitBreaker({ deadline, tolerated, pause })

  return {
    async count(appId, name) {
      const counter = counterOf.get(name)
      if (counter === undefined) throw new Error(`there is no limit for ${name}`)
      try {
        return await guarded(async () => countOf(limits[name], await consume(counter, `${appId}:${name}`)))
      } catch (error) {
        onFailure(error)
        return undefined
      }
    },
    close: () => counters.close(),
  }
}

/** The library throws its result where the limit is passed. */
async function consume(counter: RateLimiterAbstract, key: string): Promise<RateLimiterRes> {
  try {
    return await counter.consume(key)
  } catch (result) {
    if (result instanceof RateLimiterRes) return result
    throw result
  }
}

function countOf({ requests }: RateLimit, result: RateLimiterRes): Count {
  return {
    allowed: result.consumedPoints <= requests,
    limit: requests,
    remaining: result.remainingPoints,
    resetAfter: result.msBeforeNext,
  }
}
