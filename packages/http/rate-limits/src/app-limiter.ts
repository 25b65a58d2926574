import { openRateLimiter, type RateLimit, type RateLimiterOptions, type RateLimitStore, retryAfter } from './limiter.ts'

/** Limits how often each app may use one function of the service. */
export interface AppLimiter {
  /**
   * Counts a request of an app. Returns undefined if the request may pass, otherwise the number of whole seconds until
   * the next request may pass.
   */
  refuse(appId: number): Promise<number | undefined>
  /** Resolves if the store of the counts answers. Rejects with the reason if it does not. */
  check(): Promise<unknown>
  close(): Promise<void>
}

/** Opens a limiter for the function `name`. Each app has its own count. */
export async function openAppLimiter(
  store: RateLimitStore,
  name: string,
  limit: RateLimit,
  options: RateLimiterOptions,
): Promise<AppLimiter> {
  const limiter = await openRateLimiter(store, { [name]: limit }, options)
  return {
    async refuse(appId) {
      const count = await limiter.count(appId, name)
      return count.allowed ? undefined : retryAfter(count.resetAfterMs)
    },
    check: () => limiter.check(),
    close: () => limiter.close(),
  }
}
