import { type Actor, auditRoutes } from '@sluice/audit-log'
import type { Database } from '@sluice/database'
import type { Visitor } from '@sluice/sign-in'
import type { FastifyInstance } from 'fastify'

/** Returns a visitor as the actor of an entry in the audit log. */
export function actorOf({ email, isOperator }: Visitor): Actor {
  return { type: isOperator ? 'operator' : 'member', name: email }
}

/** Records what visitors change in the audit log. Runs after the form tokens are checked. */
export function auditVisitors(dashboard: FastifyInstance, db: Database): void {
  auditRoutes(dashboard, db, ({ visitor, visitedApp }) => ({
    appId: visitedApp?.appId,
    who: visitor === undefined ? { type: 'guest', name: '' } : actorOf(visitor),
  }))
}
