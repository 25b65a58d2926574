import { type Actor, auditRoutes } from '@sluice/audit-log'
import type { Database } from '@sluice/database'
import { openTurns } from '@sluice/service'
import type { Visitor } from '@sluice/sign-in'
import type { FastifyInstance } from 'fastify'

/** Returns a visitor as the actor of an entry in the audit log. */
export function actorOf({ email, isOperator }: Visitor): Actor {
  return { type: isOperator ? 'operator' : 'member', name: email }
}

/** One person's entries: after a burst, two a second. Nobody can fill the log faster, and people do not notice. */
const entries = { intervalMs: 500, burst: 40 }

/** Records what visitors change in the audit log. Runs after the form tokens are checked. */
export function auditVisitors(dashboard: FastifyInstance, db: Database): void {
  const untilTurn = openTurns(entries.intervalMs, entries.burst)
  dashboard.addHook('preHandler', async ({ visitor, routeOptions: { config } }) => {
    if (visitor !== undefined && config.audit !== undefined && 'what' in config.audit) await untilTurn(visitor.email)
  })
  auditRoutes(dashboard, db, ({ visitor, visitedApp }) => ({
    appId: visitedApp?.appId,
    who: visitor === undefined ? { type: 'guest', name: '' } : actorOf(visitor),
  }))
}
