import { addressSetting } from '@sluice/config'
import { checkSchema } from '@sluice/database'
import { checkReadiness, type Readiness } from '@sluice/service'
import type { FastifyInstance } from 'fastify'
import type { DashboardContext } from './context.ts'

/** Adds `/healthz` (the process runs) and `/readyz` (the process can serve pages). */
export function healthRoutes(
  dashboard: FastifyInstance,
  { db, storage, queueStore, uploadLimiter }: DashboardContext,
  readiness: Readiness,
): void {
  readiness.require({ name: 'postgres', setting: 'DATABASE_URL', check: () => checkSchema(db) })
  readiness.require({ name: 'storage', setting: 'S3_ENDPOINT', check: () => storage.check() })
  if ('redisUrl' in queueStore && uploadLimiter !== undefined) {
    const { check } = uploadLimiter
    readiness.require({ name: 'redis', setting: addressSetting(queueStore), isOptional: true, check })
  }
  dashboard.get('/healthz', { config: { access: 'anyone' } }, async () => ({ status: 'ok' }))
  dashboard.get('/readyz', { config: { access: 'anyone' } }, async (request, reply) => {
    const { isReady, awaited } = await checkReadiness(readiness, request.log)
    // Anybody may read this: it has neither addresses nor errors.
    return isReady ? { status: 'ready' } : reply.code(503).send({ status: 'unavailable', missing: awaited })
  })
}
