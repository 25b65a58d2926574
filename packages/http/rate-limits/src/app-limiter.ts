import { openRateLimiter, type RateLimit, type RateLimiterOptions, type RateLimitStore, retryAfter } from './limiter.ts'

/** Limits how often each app may use one function of the service. */
export interface AppLimiter {
  /**
   * Counts a request of an app. Returns undefined if the request may pass, otherwise the number of whole seconds until
   * the next request may pass.
   */
  refuse(appId: number): Promise<number | undefined>
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
    close: () => limiter.close(),
  }
}
