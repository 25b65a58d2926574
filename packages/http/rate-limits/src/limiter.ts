import { circuitBreaker } from './circuit-breaker.ts'
import type { Tally } from './counters.ts'
import { joinedCounts, type Position } from './joined-counts.ts'
import { openLocalCounts } from './local-counts.ts'
import { openPostgresCounters } from './postgres.ts'
import { openRedisCounters, type RedisCounterStore } from './redis.ts'

/** The store of the counts. It is the store of the queues, which all API processes share. */
export type RateLimitStore = RedisCounterStore | { databaseUrl: string }

/** Maximum number of requests in each fixed window. */
export interface RateLimit {
  requests: number
  /** Length of the window, whole seconds in ms. */
  windowMs: number
}

/** The outcome of counting a request, and the number of requests that the client has left. */
export interface Count {
  /** False if the counted request was over the limit. */
  allowed: boolean
  /** Maximum number of requests in a window. */
  limit: number
  /** Requests left in the window. */
  remaining: number
  /** Remaining time of the window. */
  resetAfterMs: number
}

export interface RateLimiter<Name extends string> {
  /**
   * Counts a request for the function `name`. `subject` is a key of an API token, an app's ID, or another key that the
   * function is limited by. Refused requests count too, and never prolong the window. `own` replaces the limit of the
   * function for this subject. If its window has another length, requests are counted separately, and the new window
   * begins at once.
   *
   * If the store does not answer in time, this process counts the request alone, starting from the store's last answer.
   */
  count(subject: number | string, name: Name, own?: RateLimit): Promise<Count>
  /**
   * Returns what the subject has left of its limit, without counting a request. If the store does not answer in time,
   * the result is based on the requests that this process knows of.
   */
  peek(subject: number | string, name: Name, own?: RateLimit): Promise<Count>
  /** Resolves if the store answers. Rejects with the reason if it does not. */
  check(): Promise<unknown>
  close(): Promise<void>
}

/**
 * Converts a wait in ms to whole seconds for `Retry-After`, at least 1.
 *
 * @example
 * ```ts
 * retryAfter(1_001) // → 2
 * ```
 */
export function retryAfter(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}

/** After this many failures in a row, the store is not called for `pauseMs` milliseconds. */
const toleratedFailures = 3
const pauseMs = 1_000

/** Options of {@link openRateLimiter} besides the store and the limits. */
export interface RateLimiterOptions {
  /** How long a request waits for the store to count it, ms. */
  deadlineMs: number
  /** Accepts the error of each request that the store did not count. */
  onFailure(error: unknown): void
}

/** How long opening waits for the store. A process starts even if the store is unreachable. */
const openTimeoutMs = 1_000

/**
 * Opens the limits of all functions on a store (service.md, Rate rules; design.md §3, Rate limits). A window begins
 * with the first request.
 */
export async function openRateLimiter<Name extends string>(
  store: RateLimitStore,
  limits: Record<Name, RateLimit>,
  { deadlineMs, onFailure }: RateLimiterOptions,
): Promise<RateLimiter<Name>> {
  const counters = 'redisUrl' in store ? openRedisCounters(store) : openPostgresCounters(store.databaseUrl)
  await Promise.race([counters.connected, new Promise((resolve) => setTimeout(resolve, openTimeoutMs).unref())])
  const countOf = new Map<string, ReturnType<typeof joinedCounts>>()
  const countIn = (name: Name, windowMs: number) => {
    const id = `${name} ${windowMs}`
    const count = countOf.get(id) ?? joinedCounts(counters.counter(windowMs))
    countOf.set(id, count)
    return count
  }
  const local = openLocalCounts()
  const guarded = circuitBreaker({ deadlineMs, toleratedFailures, pauseMs })

  return {
    async count(subject, name, own) {
      const { limit, key } = limitOf(limits, subject, name, own)
      const count = countIn(name, limit.windowMs)
      let counting: Promise<Position> | undefined
      try {
        const position = await guarded(() => {
          counting = count(key)
          return counting
        })
        return toCount(limit, local.counted(key, position))
      } catch (error) {
        onFailure(error)
        counting?.then(({ position }) => local.late(key, position)).catch(() => {})
        return toCount(limit, local.missed(key, limit.windowMs))
      }
    },
    async peek(subject, name, own) {
      const { limit, key } = limitOf(limits, subject, name, own)
      let tally: Tally | undefined
      try {
        tally = await guarded(() => counters.current(key))
      } catch (error) {
        onFailure(error)
      }
      const { requests, resetAfterMs } = local.known(key, tally) ?? { requests: 0, resetAfterMs: limit.windowMs }
      return { ...toCount(limit, { position: requests, resetAfterMs }), allowed: true }
    },
    check: () => counters.check(),
    close: () => counters.close(),
  }
}

/**
 * Returns the limit of a function that applies to a subject, and the key of its count. If the subject's own window has
 * another length, it has a count of its own.
 */
function limitOf<Name extends string>(
  limits: Record<Name, RateLimit>,
  subject: number | string,
  name: Name,
  own?: RateLimit,
): { limit: RateLimit; key: string } {
  const usual = limits[name]
  if (usual === undefined) throw new Error(`there is no limit for ${name}`)
  const limit = own ?? usual
  const key = limit.windowMs === usual.windowMs ? `${subject}:${name}` : `${subject}:${name}:${limit.windowMs}`
  return { limit, key }
}

/** Returns what is left of a limit after the request at this position in its window. */
function toCount({ requests }: RateLimit, { position, resetAfterMs }: Position): Count {
  return { allowed: position <= requests, limit: requests, remaining: Math.max(0, requests - position), resetAfterMs }
}
