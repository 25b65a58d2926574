import { openRedis, type RedisAddress } from '@sluice/redis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { Counters, Tally } from './counters.ts'

/** A Redis that leaves a command unanswered for this long counts as dead, and a new connection is opened. */
const responseTimeoutMs = 2_000

/** Where the counters are, and the prefix of their keys. */
export type RedisCounterStore = RedisAddress & { keyPrefix?: string }

/** Opens counters in Redis. Counting fails at once while there is no connection. */
export function openRedisCounters(store: RedisCounterStore): Counters {
  const redis = openRedis(store, { retries: 0, queued: false, lazy: true, responseTimeoutMs, longestPauseMs: 1_000 })
  // Each request that is not counted reports its own error, which does not say why there is no connection.
  let failure: Error | undefined
  redis.on('error', (error: Error) => {
    failure = error
  })
  const limiterOf = (windowMs: number) => {
    // The store only counts; `limiter.ts` compares with the limit.
    const options = { points: Number.MAX_SAFE_INTEGER, duration: windowMs / 1000 }
    return new RateLimiterRedis({ ...options, storeClient: redis, keyPrefix: `${store.keyPrefix ?? ''}sluice:rate` })
  }
  // Reading a count does not depend on the length of its window.
  const reader = limiterOf(1_000)
  return {
    counter(windowMs) {
      const limiter = limiterOf(windowMs)
      return async (key, requests): Promise<Tally> => {
        const { consumedPoints, msBeforeNext } = await limiter.consume(key, requests)
        return { requests: consumedPoints, resetAfterMs: msBeforeNext }
      }
    },
    async current(key) {
      const found = await reader.get(key)
      return found === null ? undefined : { requests: found.consumedPoints, resetAfterMs: found.msBeforeNext }
    },
    check: () => redis.ping().catch((error: unknown) => Promise.reject(failure ?? error)),
    connected: redis.connect().catch(() => {}),
    close: async () => redis.disconnect(),
  }
}
