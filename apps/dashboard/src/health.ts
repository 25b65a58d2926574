import { sql } from '@sluice/database'
import type { PageRoutes } from './context.ts'

/** `/healthz`: the process runs; `/readyz`: it can serve pages. */
export const healthRoutes: PageRoutes = (dashboard, { db, storage }) => {
  dashboard.get('/healthz', { config: { access: 'anyone' } }, async () => ({ status: 'ok' }))
  dashboard.get('/readyz', { config: { access: 'anyone' } }, async (request, reply) => {
    try {
      await Promise.all([sql`select 1`.execute(db), storage.check()])
      return { status: 'ready' }
    } catch (error) {
      request.log.warn({ err: error }, 'not ready')
      return reply.code(503).send({ status: 'unavailable' })
    }
  })
}
