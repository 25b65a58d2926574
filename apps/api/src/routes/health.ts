import { errors } from '@sluice/contract'
import { checkSchema } from '@sluice/database'
import { isReady, type Readiness } from '@sluice/service'
import type { FastifyInstance } from 'fastify'
import { answer } from '../answers.ts'
import type { ApiContext } from '../context.ts'

/**
 * Adds `/healthz` (the process runs) and `/readyz` (it can serve requests). The API adds no jobs, so it needs no queue.
 */
export function healthRoutes(api: FastifyInstance, { db, storage }: ApiContext, readiness: Readiness): void {
  readiness.require('postgres', () => checkSchema(db))
  readiness.require('storage', () => storage.check())
  api.get('/healthz', async () => ({ status: 'ok' }))
  api.get('/readyz', async (request, reply) => {
    return (await isReady(readiness, request.log)) ? { status: 'ready' } : answer(reply, errors.unavailable())
  })
}
