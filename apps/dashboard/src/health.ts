import { checkSchema } from '@sluice/database'
import { isReady, type Readiness } from '@sluice/service'
import type { FastifyInstance } from 'fastify'
import type { DashboardContext } from './context.ts'

/** Adds `/healthz` (the process runs) and `/readyz` (the process can serve pages). */
export function healthRoutes(
  dashboard: FastifyInstance,
  { db, storage }: DashboardContext,
  readiness: Readiness,
): void {
  readiness.require('postgres', () => checkSchema(db))
  readiness.require('storage', () => storage.check())
  dashboard.get('/healthz', { config: { access: 'anyone' } }, async () => ({ status: 'ok' }))
  dashboard.get('/readyz', { config: { access: 'anyone' } }, async (request, reply) => {
    return (await isReady(readiness, request.log))
      ? { status: 'ready' }
      : reply.code(503).send({ status: 'unavailable' })
  })
}
