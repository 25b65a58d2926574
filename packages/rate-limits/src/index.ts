export { type Count, openRateLimiter, type RateLimit, type RateLimiter, type RateLimitStore } from './limiter.ts'
