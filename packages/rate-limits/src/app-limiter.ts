import { openRateLimiter, type RateLimit, type RateLimiterOptions, type RateLimitStore, retryAfter } from './limiter.ts'

/** How often an app may do one thing. */
export interface AppLimiter {
  /** Counts a request of an app. Returns undefined if it may pass, otherwise after how many whole seconds the next one may. */
  refuse(appId: number): Promise<number | undefined>
  close(): Promise<void>
}

/** Opens the limit of one function, `name`, for each app. */
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
      return count.allowed ? undefined : retryAfter(count.resetAfter)
    },
    close: () => limiter.close(),
  }
}
