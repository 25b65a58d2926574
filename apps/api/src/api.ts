import { authenticator, type Cells, cellRouter } from '@sluice/accounts'
import { auditRoutes } from '@sluice/audit-log'
import { readSettings, type Settings } from '@sluice/config'
import { errors } from '@sluice/contract'
import { closeConnections, keepForwardedAddresses, openReadiness, type Readiness } from '@sluice/service'
import { nameRoute } from '@sluice/traces'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { answer, answerError } from './answers.ts'
import { tokenLastFour } from './authentication.ts'
import { bodySettings, limitBodiesInFlight } from './bodies-in-flight.ts'
import { forwardToCells } from './cells.ts'
import type { ApiContext, ApiServices } from './context.ts'
import { docsRoutes } from './docs.ts'
import { harden, hardenedServer, type Timeouts, timeoutSettings } from './hardening.ts'
import { acceptIdempotencyKeys } from './idempotency.ts'
import { type ApiMetrics, metricsRoutes, openApiMetrics } from './metrics.ts'
import { type ApiRateLimiter, limitRates } from './rate-limiting.ts'
import { limitReadsInFlight } from './reads-in-flight.ts'
import { parseJsonBodies } from './request-body.ts'
import { bulkImportRoutes } from './routes/bulk-import.ts'
import { bulkImportV2Routes } from './routes/bulk-import-v2.ts'
import { errorFileRoutes } from './routes/error-files.ts'
import { exportRoutes } from './routes/exports.ts'
import { healthRoutes } from './routes/health.ts'
import { importListRoutes } from './routes/import-list.ts'
import { profileKeyRoutes } from './routes/profile-keys.ts'
import { profileUpdateRoutes } from './routes/profile-update.ts'
import { userDataDeletionRoutes } from './routes/user-data-deletions.ts'
import { userValueRoutes } from './routes/user-values.ts'
import { userRoutes } from './routes/users.ts'

/** Options of the API besides its services. */
export interface ApiOptions {
  /** Networks whose `X-Forwarded-For` names the client. Default: none. */
  trustedProxies?: string[] | undefined
  /** Default: the defaults of the settings. */
  timeouts?: Timeouts
  /** Default: the default of the setting. */
  bodies?: Settings<(typeof bodySettings)[number]>
  /** Default: no rate limits. */
  rateLimiter?: ApiRateLimiter
  metrics?: ApiMetrics
  /** Whether this server, which clients reach, serves `/metrics`. Default: true. */
  servesMetrics?: boolean
  readiness?: Readiness
  /** Cells of the service, which divide the apps among them. Default: this API serves all apps. */
  cells?: Cells
}

/** Builds the HTTP API. Its routes parse requests, call a package, and answer. The caller must call `listen`. */
export function buildApi(services: ApiServices, options: ApiOptions = {}): FastifyInstance {
  const {
    timeouts = readSettings({}, timeoutSettings),
    bodies = readSettings({}, bodySettings),
    metrics = openApiMetrics(),
  } = options
  const { readiness = openReadiness() } = options
  const context: ApiContext = { ...services, authenticate: authenticator(services.db) }
  const loggerInstance: FastifyBaseLogger = context.log
  const api = fastify({
    ...hardenedServer(timeouts, context.log),
    loggerInstance,
    trustProxy: options.trustedProxies ?? false,
    forceCloseConnections: 'idle',
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
  })
  api.addHook('onRequest', async ({ raw }) => keepForwardedAddresses(raw))
  acceptIdempotencyKeys(api, context)
  limitBodiesInFlight(api, bodies)
  limitReadsInFlight(api)
  parseJsonBodies(api)
  api.setNotFoundHandler((_, reply) => answer(reply, errors.notFound()))
  api.setErrorHandler((error, _, reply) => answerError(error, reply))
  harden(api)
  api.addHook('onRequest', async ({ routeOptions }) => nameRoute(routeOptions.url ?? 'none'))
  if (options.cells !== undefined) forwardToCells(api, options.cells.own, cellRouter(options.cells))
  api.addHook('preClose', async () => closeConnections(api.server))
  api.addHook('onResponse', async (request, reply) => {
    // Logs the route instead of the address, because an address may contain a token.
    const { method, routeOptions } = request
    const ms = Math.round(reply.elapsedTime)
    const labels = { method, route: routeOptions.url ?? 'none', status: reply.statusCode }
    metrics.requests.observe(labels, reply.elapsedTime / 1000)
    request.log.info(
      { method, route: routeOptions.url, status: reply.statusCode, ms, app_id: request.appId },
      'request',
    )
  })
  api.decorateRequest('appId')
  api.decorateRequest('bulkImportLimit')
  auditRoutes(api, context.db, (request) => ({
    appId: request.appId,
    who: { type: 'token', name: `…${tokenLastFour(request)}` },
  }))
  if (options.rateLimiter !== undefined) limitRates(api, options.rateLimiter, metrics)

  healthRoutes(api, context, readiness)
  if (options.servesMetrics !== false) metricsRoutes(api, metrics)
  docsRoutes(api, context.apiUrl)
  errorFileRoutes(api, context)
  bulkImportRoutes(api, context)
  bulkImportV2Routes(api, context)
  importListRoutes(api, context)
  profileUpdateRoutes(api, context)
  userDataDeletionRoutes(api, context)
  userRoutes(api, context)
  profileKeyRoutes(api, context)
  userValueRoutes(api, context)
  exportRoutes(api, context)
  return api
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The app of the request's token; set by `authentication`. */
    appId?: number
    /** The app's own limit of first requests of v3; null if the setting applies. */
    bulkImportLimit?: string | null
  }
}
