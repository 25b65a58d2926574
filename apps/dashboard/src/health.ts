import { checkSchema } from '@sluice/database'
import { NotReady, type Readiness } from '@sluice/service'
import type { FastifyInstance } from 'fastify'
import type { DashboardContext } from './context.ts'

/** `/healthz`: the process runs; `/readyz`: it can serve pages. */
export function healthRoutes(
  dashboard: FastifyInstance,
  { db, storage }: DashboardContext,
  readiness: Readiness,
): void {
  readiness.require('postgres', () => checkSchema(db))
  readiness.require('storage', () => storage.check())
  dashboard.get('/healthz', { config: { access: 'anyone' } }, async () => ({ status: 'ok' }))
  dashboard.get('/readyz', { config: { access: 'anyone' } }, async (request, reply) => {
    try {
      await readiness.check()
      return { status: 'ready' }
    } catch (error) {
      if (!(error instanceof NotReady)) throw error
      request.log.warn({ reasons: error.reasons }, 'not ready')
      return reply.code(503).send({ status: 'unavailable' })
    }
  })
}
