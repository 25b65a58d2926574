import { rateLimit, type SettingName, type Settings } from '@sluice/config'
import { errors } from '@sluice/contract'
import { openRateLimiter, type RateLimit, type RateLimiter, type RateLimitStore, retryAfter } from '@sluice/rate-limits'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { answer } from './answers.ts'
import { rateSubject } from './authentication.ts'
import type { ApiMetrics } from './metrics.ts'

/**
 * The functions that are counted separately (service.md, Rate rules), each with its route and the setting of its limit.
 */
export const functions = {
  deletion: { route: 'POST /v3/user_data_deletions', setting: 'RATE_LIMIT_DELETION' },
  profile_update: { route: 'POST /v2/user_profiles', setting: 'RATE_LIMIT_PROFILE_UPDATE' },
  bulk_import: { route: 'POST /v3/user_profiles/bulk_import', setting: 'RATE_LIMIT_BULK_IMPORT' },
  bulk_import_v2: { route: 'POST /v2/user_profiles/bulk_import', setting: 'RATE_LIMIT_BULK_IMPORT_V2' },
  import_status: { route: 'GET /v3/user_profiles/bulk_import/:importId', setting: 'RATE_LIMIT_IMPORT_STATUS' },
  import_list: { route: 'GET /v3/user_profiles/bulk_import', setting: 'RATE_LIMIT_IMPORT_LIST' },
  import_cancellation: {
    route: 'DELETE /v3/user_profiles/bulk_import/:importId',
    setting: 'RATE_LIMIT_IMPORT_CANCELLATION',
  },
  export: { route: 'POST /v1/exports', setting: 'RATE_LIMIT_EXPORT' },
  export_status: { route: 'GET /v1/exports/:exportId', setting: 'RATE_LIMIT_EXPORT_STATUS' },
  user: { route: 'GET /v1/users/:userId', setting: 'RATE_LIMIT_USER' },
  profile_keys: { route: 'GET /v1/profile_keys', setting: 'RATE_LIMIT_PROFILE_KEYS' },
  key_registration: { route: 'POST /v1/profile_keys', setting: 'RATE_LIMIT_KEY_REGISTRATION' },
  value_removal: { route: 'DELETE /v1/users/:userId/profiles/:key', setting: 'RATE_LIMIT_VALUE_REMOVAL' },
  user_registration: { route: 'POST /v1/users', setting: 'RATE_LIMIT_USER_REGISTRATION' },
} as const satisfies Record<string, { route: string; setting: SettingName }>

type FunctionName = keyof typeof functions
const functionNames = Object.keys(functions) as FunctionName[]

export const rateLimitSettings = [
  ...functionNames.map((name) => functions[name].setting),
  'RATE_LIMIT_TIMEOUT',
] as const

export type ApiRateLimiter = RateLimiter<FunctionName>

/** An unreachable store is logged at most once in this time, ms. */
const logIntervalMs = 10_000

/**
 * Opens the limits of the settings. If the store does not answer, this process counts requests by itself. A metric
 * counts such requests, and the log mentions them at intervals.
 */
export function openApiRateLimiter(
  store: RateLimitStore,
  settings: Settings<(typeof rateLimitSettings)[number]>,
  { metrics, log }: { metrics: ApiMetrics; log: Logger },
): Promise<ApiRateLimiter> {
  let unlogged = 0
  let loggedAt = Number.NEGATIVE_INFINITY
  const limits = Object.fromEntries(functionNames.map((name) => [name, settings[functions[name].setting]]))
  const onFailure = (error: unknown) => {
    metrics.uncounted.inc()
    unlogged += 1
    if (performance.now() - loggedAt < logIntervalMs) return
    log.warn({ err: error, requests: unlogged }, 'rate limits are counted by this process alone')
    loggedAt = performance.now()
    unlogged = 0
  }
  const options = { deadlineMs: settings.RATE_LIMIT_TIMEOUT, onFailure }
  return openRateLimiter(store, limits as Record<FunctionName, (typeof limits)[string]>, options)
}

/**
 * Adds the rate limits to the routes of all functions, if they are registered afterwards. The hook runs after the
 * route's own `onRequest` hooks, which authenticate, and before the body is read.
 */
export function limitRates(api: FastifyInstance, limiter: ApiRateLimiter, metrics: ApiMetrics): void {
  api.addHook('onRoute', (route) => {
    const method = route.method === 'HEAD' ? 'GET' : route.method
    const name = functionNames.find((name) => functions[name].route === `${method} ${route.url}`)
    if (name === undefined) return
    route.onRequest = [route.onRequest ?? [], limitRate(name, limiter, metrics)].flat()
  })
}

function limitRate(name: FunctionName, limiter: ApiRateLimiter, metrics: ApiMetrics) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const subject = rateSubject(request)
    const own = limitOfApp(request, name)
    // A repetition with an idempotency key costs nothing (second-day.md §4).
    const isFree = request.keyed?.isRepetition === true
    const count = await (isFree ? limiter.peek(subject, name, own) : limiter.count(subject, name, own))
    reply.header('X-RateLimit-Limit', count.limit)
    reply.header('X-RateLimit-Remaining', count.remaining)
    reply.header('X-RateLimit-Reset', Math.ceil((Date.now() + count.resetAfterMs) / 1000))
    if (count.allowed) return
    metrics.limited.inc({ function: name })
    const seconds = retryAfter(count.resetAfterMs)
    return answer(reply.header('Retry-After', seconds), errors.tooManyRequests(seconds))
  }
}

/** Returns the app's own limit of a function, which the authentication has read; undefined if the setting applies. */
function limitOfApp({ bulkImportLimit }: FastifyRequest, name: FunctionName): RateLimit | undefined {
  return name === 'bulk_import' && bulkImportLimit ? rateLimit.parse(bulkImportLimit) : undefined
}
