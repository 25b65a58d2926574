import { recordEvent } from '@sluice/audit-log'
import { findVisitor } from '@sluice/sign-in'
import type { FastifyRequest } from 'fastify'
import { actorOf } from '../access/audit.ts'
import type { DashboardContext } from '../context.ts'

/**
 * Records a sign-in in the audit log of each app of the person; if the person is an operator, in that of the service.
 */
export async function recordSignIn(
  { db }: DashboardContext,
  { ip, id }: FastifyRequest,
  session: string,
): Promise<void> {
  const visitor = await findVisitor(db, session)
  if (visitor === undefined) return
  const scopes = visitor.isOperator ? [undefined] : visitor.apps.map(({ appId }) => appId)
  for (const appId of scopes) {
    await recordEvent(db, { appId, who: actorOf(visitor), what: 'sign_in', address: ip, requestId: id })
  }
}
