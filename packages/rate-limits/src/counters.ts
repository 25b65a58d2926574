import type { RateLimiterAbstract } from 'rate-limiter-flexible'

/** A store of counters. */
export interface Counters {
  /** Makes the counters of a function: one per app. Takes the most requests in a window, and its length in seconds. */
  counter(options: { points: number; duration: number }): RateLimiterAbstract
  close(): Promise<void>
}
