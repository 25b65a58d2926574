import { authenticator } from '@sluice/accounts'
import { auditRoutes } from '@sluice/audit-log'
import { readSettings, type Settings } from '@sluice/config'
import { errors } from '@sluice/contract'
import { checkSchema } from '@sluice/database'
import { openStateWatch } from '@sluice/imports'
import type { CellRouter } from '@sluice/moves'
import { closeConnections, keepForwardedAddresses, openReadiness, type Readiness } from '@sluice/service'
import { nameRoute } from '@sluice/traces'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { addEndpoint } from './add-endpoint.ts'
import { answer, answerError } from './answers.ts'
import { tokenLastFour } from './authentication.ts'
import { bodySettings, limitBodiesInFlight } from './bodies-in-flight.ts'
import { forwardToCells } from './cells.ts'
import type { ApiContext, ApiServices } from './context.ts'
import { endpoints } from './endpoints/index.ts'
import { harden, hardenedServer, type Timeouts, timeoutSettings } from './hardening.ts'
import { acceptIdempotencyKeys } from './idempotency.ts'
import { type ApiMetrics, openApiMetrics } from './metrics.ts'
import { docsPage } from './openapi/docs-page.ts'
import { openApiDocument } from './openapi/document.ts'
import { llmsText, servedGuides } from './openapi/guides.ts'
import { servedDocument } from './openapi/served-document.ts'
import { type ApiRateLimiter, limitRate } from './rate-limiting.ts'
import { limitReadsInFlight } from './reads-in-flight.ts'
import { parseBodies } from './request-body.ts'

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
  cells?: CellRouter
}

/** Builds the HTTP API of all endpoints. The caller must call `listen`. */
export function buildApi(services: ApiServices, options: ApiOptions = {}): FastifyInstance {
  const { timeouts = readSettings({}, timeoutSettings), bodies = readSettings({}, bodySettings) } = options
  const { metrics = openApiMetrics(), readiness = openReadiness() } = options
  const context: ApiContext = {
    ...services,
    authenticate: authenticator(services.db),
    states: openStateWatch(services.db),
    metrics,
    readiness,
    document: documentsOf(services.apiUrl),
  }
  readiness.require({ name: 'postgres', setting: 'DATABASE_URL', check: () => checkSchema(context.db) })
  readiness.require({ name: 'storage', setting: 'S3_ENDPOINT', check: () => context.storage.check() })
  const api = openServer(context.log, options.trustedProxies, timeouts)
  api.addHook('onRequest', async ({ raw }) => keepForwardedAddresses(raw))
  acceptIdempotencyKeys(api, context)
  limitBodiesInFlight(api, bodies)
  limitReadsInFlight(api)
  parseBodies(api)
  // design.md §3, Wrong method.
  api.setNotFoundHandler((_, reply) => answer(reply, errors.notFound()))
  api.setErrorHandler((error, _, reply) => answerError(error, reply))
  harden(api)
  api.addHook('onRequest', async ({ routeOptions }) => nameRoute(routeOptions.url ?? 'none'))
  if (options.cells !== undefined) forwardToCells(api, options.cells)
  api.addHook('preClose', async () => {
    context.states.close()
    closeConnections(api.server)
  })
  recordRequests(api, metrics)
  api.decorateRequest('appId')
  api.decorateRequest('bulkImportLimit')
  auditRoutes(api, context.db, (request) => ({
    appId: request.appId,
    who: { type: 'token', name: `…${tokenLastFour(request)}` },
  }))

  const { rateLimiter, servesMetrics = true } = options
  for (const endpoint of endpoints) {
    if (endpoint.path === '/metrics' && !servesMetrics) continue
    addEndpoint(api, context, endpoint, ({ limit }) =>
      rateLimiter && limit ? [limitRate(limit.function, rateLimiter, metrics)] : [],
    )
  }
  return api
}

function documentsOf(apiUrl: string): ApiContext['document'] {
  const document = openApiDocument(apiUrl)
  return {
    json: servedDocument(JSON.stringify(document)),
    html: servedDocument(docsPage(document)),
    llms: servedDocument(llmsText(apiUrl)),
    guideOf: servedGuides(apiUrl),
  }
}

function openServer(log: ApiServices['log'], trustedProxies: string[] | undefined, timeouts: Timeouts) {
  return fastify({
    ...hardenedServer(timeouts, log),
    loggerInstance: log as FastifyBaseLogger,
    trustProxy: trustedProxies ?? false,
    forceCloseConnections: 'idle',
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
  })
}

/** Counts and logs each request. */
function recordRequests(api: FastifyInstance, metrics: ApiMetrics): void {
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
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The app of the request's token; set by `authentication`. */
    appId?: number
    /** The app's own limit of first requests of v3; null if the setting applies. */
    bulkImportLimit?: string | null
  }
}
