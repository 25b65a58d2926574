import type { RequestListener } from 'node:http'
import {
  type ClientPolicy,
  clientPolicy,
  closeConnections,
  createClientServer,
  keepForwardedAddresses,
  openMetrics,
  openReadiness,
  requestHistogram,
  type ServiceOperations,
} from '@sluice/service'
import { nameRoute } from '@sluice/traces'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { auditVisitors } from './access/audit.ts'
import { guardForms, parseForms } from './access/forms.ts'
import { guardRoutes } from './access/guard.ts'
import { redirectMovedApps } from './access/moved-apps.ts'
import { refuseUnreadableText } from './access/readable-text.ts'
import { limitRequests } from './access/request-limits.ts'
import { answerBrokenAddresses, secureAnswers } from './access/security-headers.ts'
import { allImportsRoutes } from './all-imports/routes.ts'
import { assetRoutes } from './assets/routes.ts'
import { auditLogRoutes } from './audit-log/routes.ts'
import type { DashboardContext, PageRoutes } from './context.ts'
import { credentialRoutes } from './credentials/routes.ts'
import { mappingRoutes } from './data-import/mapping-routes.ts'
import { dataImportRoutes } from './data-import/routes.ts'
import { deletionRoutes } from './deletions/routes.ts'
import { answerErrors } from './error-pages.ts'
import { healthRoutes } from './health.ts'
import { homeRoutes } from './home/routes.ts'
import { importRoutes } from './imports/routes.ts'
import { invitationRoutes } from './invitations/routes.ts'
import { helpRoutes } from './layout/help.ts'
import { themeRoutes } from './layout/theme.ts'
import { pauseRoutes } from './pauses/routes.ts'
import { profileRoutes } from './profiles/routes.ts'
import { queueRoutes } from './queues/routes.ts'
import { settingsRoutes } from './settings/routes.ts'
import { providerRoutes } from './sign-in/provider-routes.ts'
import { signInRoutes } from './sign-in/routes.ts'
import { unsubscribeRoutes } from './unsubscribe/routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'

/** The largest form. Routes that accept a file have a limit of their own. */
const formLimitBytes = 65_536

const areas: readonly PageRoutes[] = [
  homeRoutes,
  themeRoutes,
  helpRoutes,
  signInRoutes,
  providerRoutes,
  invitationRoutes,
  unsubscribeRoutes,
  importRoutes,
  dataImportRoutes,
  mappingRoutes,
  credentialRoutes,
  webhookRoutes,
  profileRoutes,
  deletionRoutes,
  settingsRoutes,
  pauseRoutes,
  auditLogRoutes,
  allImportsRoutes,
  queueRoutes,
]

/**
 * Builds the dashboard: routes parse a request, call a package, and answer with a page. The caller makes the dashboard
 * listen. `operations` exposes its metrics and its readiness.
 */
export function buildDashboard(
  context: DashboardContext,
  operations: ServiceOperations = { metrics: openMetrics(), readiness: openReadiness() },
  clients: ClientPolicy = clientPolicy,
): FastifyInstance {
  const requests = requestHistogram(operations.metrics)
  const loggerInstance: FastifyBaseLogger = context.log
  const dashboard = fastify({
    loggerInstance,
    genReqId: () => crypto.randomUUID(),
    bodyLimit: formLimitBytes,
    serverFactory: (listener: RequestListener) => createClientServer(listener, { policy: clients }),
    trustProxy: context.trustedProxies ?? false,
    forceCloseConnections: 'idle',
    frameworkErrors: answerBrokenAddresses(context),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
  })
  dashboard.addHook('onRequest', async ({ raw }) => keepForwardedAddresses(raw))
  dashboard.addHook('onRequest', async ({ routeOptions }) => nameRoute(routeOptions.url ?? 'none'))
  dashboard.addHook('preClose', async () => closeConnections(dashboard.server))
  dashboard.addHook('onResponse', async (request, reply) => {
    // Logs the route instead of the address, because an address may contain the secret of a sign-in link.
    const { method, routeOptions } = request
    const labels = { method, route: routeOptions.url ?? 'none', status: reply.statusCode }
    requests.observe(labels, reply.elapsedTime / 1000)
    const took = Math.round(reply.elapsedTime)
    request.log.info({ method, route: routeOptions.url, status: reply.statusCode, ms: took }, 'request')
  })
  secureAnswers(dashboard, context)
  parseForms(dashboard)
  if (context.cells !== undefined) redirectMovedApps(dashboard, context.cells)
  guardRoutes(dashboard, context)
  limitRequests(dashboard, context.requestLimiter)
  refuseUnreadableText(dashboard)
  guardForms(dashboard)
  auditVisitors(dashboard, context.db)
  answerErrors(dashboard)
  healthRoutes(dashboard, context, operations.readiness)
  assetRoutes(dashboard)
  for (const addRoutes of areas) addRoutes(dashboard, context)
  return dashboard
}
