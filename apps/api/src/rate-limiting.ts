import { rateLimit, readSettings, withDefault } from '@sluice/config'
import { errors } from '@sluice/contract'
import { openRateLimiter, type RateLimit, type RateLimiter, type RateLimitStore, retryAfter } from '@sluice/rate-limits'
import { atIntervals } from '@sluice/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { answer } from './answers.ts'
import { rateSubject } from './authentication.ts'
import { endpoints } from './endpoints/index.ts'
import type { ApiMetrics } from './metrics.ts'

const settingOf = (name: string) => `RATE_LIMIT_${name.toUpperCase()}`

/** The functions that are counted separately (service.md, Rate rules). */
const functions = endpoints.flatMap(({ limit }) => limit ?? [])

/** The settings of the limits, by name. */
export const rateSettings = Object.fromEntries(
  functions.map(({ function: name, rate, counts }) => [
    settingOf(name),
    withDefault(rateLimit, rate, `${counts} with one API token`),
  ]),
)

/** The limits of all functions, and how long a request waits for its count, ms. */
export interface ApiRates {
  limits: Record<string, RateLimit>
  deadlineMs: number
}

/** Reads the limits of all functions from the environment. Throws `SettingsError`. */
export function readRates(environment: Record<string, string | undefined>): ApiRates {
  const values = readSettings(environment, Object.keys(rateSettings), rateSettings)
  const { RATE_LIMIT_TIMEOUT: deadlineMs } = readSettings(environment, ['RATE_LIMIT_TIMEOUT'])
  const limits = functions.flatMap(({ function: name }) => {
    const limit = values[settingOf(name)]
    return limit === undefined ? [] : [[name, limit] as const]
  })
  return { limits: Object.fromEntries(limits), deadlineMs }
}

export type ApiRateLimiter = RateLimiter<string>

/**
 * Opens the limits. If the store does not answer, this process counts requests by itself. A metric counts such
 * requests, and the log mentions them at intervals.
 */
export function openApiRateLimiter(
  store: RateLimitStore,
  { limits, deadlineMs }: ApiRates,
  { metrics, log }: { metrics: ApiMetrics; log: Logger },
): Promise<ApiRateLimiter> {
  const warn = atIntervals((error: unknown, requests) =>
    log.warn({ err: error, requests }, 'rate limits are counted by this process alone'),
  )
  const onFailure = (error: unknown) => {
    metrics.uncounted.inc()
    warn(error)
  }
  return openRateLimiter(store, limits, { deadlineMs, onFailure })
}

/**
 * Returns the hook that counts the requests of a function, and refuses those beyond its limit
 * (service.md, Errors: 429; service.md, Rate rules). It runs after authentication, before the body is read.
 */
export function limitRate(name: string, limiter: ApiRateLimiter, metrics: ApiMetrics) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const subject = rateSubject(request)
    const own = limitOfApp(request, name)
    // A repetition with an idempotency key costs nothing (second-day.md §4, Rate limit).
    const isFree = request.keyed?.isRepetition === true
    const count = await (isFree ? limiter.peek(subject, name, own) : limiter.count(subject, name, own))
    // design.md §3, Rate limits.
    reply.header('X-RateLimit-Limit', count.limit)
    reply.header('X-RateLimit-Remaining', count.remaining)
    reply.header('X-RateLimit-Reset', Math.ceil((Date.now() + count.resetAfterMs) / 1000))
    if (count.allowed) return
    metrics.limited.inc({ function: name })
    return answer(reply, errors.tooManyRequests(retryAfter(count.resetAfterMs)))
  }
}

/** Returns the app's own limit of a function, which the authentication has read; undefined if the setting applies. */
function limitOfApp({ bulkImportLimit }: FastifyRequest, name: string): RateLimit | undefined {
  return name === 'bulk_import' && bulkImportLimit ? rateLimit.parse(bulkImportLimit) : undefined
}
