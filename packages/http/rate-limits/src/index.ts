export { type AppLimiter, openAppLimiter } from './app-limiter.ts'
export { removeEndedWindows } from './ended-windows.ts'
export {
  type Count,
  openRateLimiter,
  type RateLimit,
  type RateLimiter,
  type RateLimitStore,
  retryAfter,
} from './limiter.ts'
