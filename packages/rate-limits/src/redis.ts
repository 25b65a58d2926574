import { openRedis } from '@sluice/redis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { Counters, Tally } from './counters.ts'

/** A Redis that is silent for so long is taken for dead, and connected to anew, ms. */
const silence = 2_000

/** Opens counters in Redis. Without a connection they fail at once. */
export function openRedisCounters(url: string): Counters {
  const redis = openRedis(url, { retries: 0, queued: false, lazy: true, silence, longestPause: 1_000 })
  // What it costs is reported by each request that is not counted.
  redis.on('error', () => {})
  return {
    counter(window) {
      // What is too much is not the store's business: no count is refused.
      const options = { points: Number.MAX_SAFE_INTEGER, duration: window / 1000 }
      const limiter = new RateLimiterRedis({ ...options, storeClient: redis, keyPrefix: 'sluice:rate' })
      return async (key, requests): Promise<Tally> => {
        const { consumedPoints, msBeforeNext } = await limiter.consume(key, requests)
        return { requests: consumedPoints, resetAfter: msBeforeNext }
      }
    },
    connected: redis.connect().catch(() => {}),
    close: async () => redis.disconnect(),
  }
}
