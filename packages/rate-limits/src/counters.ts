import type { RateLimiterAbstract } from 'rate-limiter-flexible'

/** A store of counters. */
export interface Counters {
  /** Makes the counters of a function: one per app. Takes the most requests in a window, and its length in seconds. */
  counter(options: { points: number; duration: number }): RateLimiterAbstract
  /** Ends when the store was reached or found to be away. Until then counting fails or is slow. */
  connected: Promise<void>
  close(): Promise<void>
}
