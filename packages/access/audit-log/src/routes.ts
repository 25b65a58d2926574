import type { Database } from '@sluice/database'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import type { AuditAction } from './actions.ts'
import { type Actor, beginEntry, type OpenEntry, outcomeOf } from './entries.ts'

/** What the audit log records of a route. */
export type RouteAudit =
  | { what: AuditAction; target?: (request: FastifyRequest) => string | undefined }
  /** The handler records the event itself, because only the handler learns who acts. */
  | { what: AuditAction; by: 'handler' }
  | { unrecordedBecause: string }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the audit log records of the route's requests. A route that may change something needs it. */
    audit?: RouteAudit
  }
  interface FastifyInstance {
    /** The routes that may change something, such as `POST /sign-in`, and what is recorded of them. */
    auditedRoutes(): Record<string, RouteAudit | undefined>
  }
  interface FastifyRequest {
    /** The target in the audit log, if the handler knows it better than the route. */
    auditTarget: string | undefined
    /** Whether a permitted action has changed something, if the handler says so. */
    auditChange: boolean | undefined
    auditEntry: OpenEntry | undefined
  }
}

const readingMethods = ['GET', 'HEAD', 'OPTIONS']

/**
 * Records the requests of every route in the audit log. The entry is begun before the handler runs. Its outcome follows
 * from the status of the answer: `refused` from 400 on, `failed` from 500 on, else `done`, or `unchanged` if the
 * handler says that nothing has changed.
 *
 * Accepts a function that returns the app and the actor of a request. A server fails to start if one of its routes may
 * change something but has no `config.audit`.
 */
export function auditRoutes(
  server: FastifyInstance,
  db: Database,
  subjectOf: (request: FastifyRequest) => { appId: number | undefined; who: Actor },
): void {
  const routes: RouteOptions[] = []
  server.decorateRequest('auditTarget', undefined)
  server.decorateRequest('auditChange', undefined)
  server.decorateRequest('auditEntry', undefined)
  server.addHook('onRoute', (route) => {
    routes.push(route)
  })
  const auditedRoutes = () =>
    Object.fromEntries(
      routes
        .filter(({ method }) => [method].flat().some((each) => !readingMethods.includes(each)))
        .map(({ method, url, config }) => [`${String(method)} ${url}`, config?.audit]),
    )
  server.decorate('auditedRoutes', auditedRoutes)
  server.addHook('onReady', async () => {
    const all = Object.entries(auditedRoutes())
    const silent = all.filter(([, audit]) => audit === undefined).map(([route]) => route)
    if (silent.length > 0)
      throw new Error(`the config of these routes lacks what the audit log records: ${silent.join(', ')}`)
  })
  server.addHook('preHandler', async (request) => {
    const { audit } = request.routeOptions.config
    if (request.is404 || audit === undefined || 'unrecordedBecause' in audit || 'by' in audit) return
    request.auditEntry = await beginEntry(db, {
      ...subjectOf(request),
      what: audit.what,
      target: audit.target?.(request),
      address: request.ip,
      requestId: request.id,
    })
  })
  server.addHook('onSend', async (request, reply) => {
    const entry = request.auditEntry
    if (entry === undefined) return
    request.auditEntry = undefined
    const permitted = outcomeOf(request.auditChange !== false)
    const outcome = reply.statusCode >= 500 ? 'failed' : reply.statusCode >= 400 ? 'refused' : permitted
    // The action has happened: its answer must reach the client even if the outcome cannot be recorded.
    await entry
      .end(outcome, request.auditTarget === undefined ? {} : { target: request.auditTarget })
      .catch((error: unknown) => request.log.error({ err: error }, 'outcome missing in the audit log'))
  })
}
