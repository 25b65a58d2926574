import { errors } from '@sluice/contract'
import { sql } from '@sluice/database'
import type { FastifyInstance } from 'fastify'
import { answer } from '../answers.ts'
import type { ApiContext } from '../context.ts'

/** `/healthz`: the process runs; `/readyz`: it can serve requests. */
export function healthRoutes(api: FastifyInstance, { db, storage }: ApiContext): void {
  api.get('/healthz', async () => ({ status: 'ok' }))
  api.get('/readyz', async (request, reply) => {
    try {
      await Promise.all([sql`select 1`.execute(db), storage.check()])
      return { status: 'ready' }
    } catch (error) {
      request.log.warn({ err: error }, 'not ready')
      return answer(reply, errors.unavailable())
    }
  })
}
