import { errors } from '@sluice/contract'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { answer, answerError } from './answers.ts'
import type { ApiContext } from './context.ts'
import { bulkImportRoutes } from './routes/bulk-import.ts'
import { errorFileRoutes } from './routes/error-files.ts'
import { healthRoutes } from './routes/health.ts'

/** Largest JSON body, bytes. */
const bodyLimit = 1_048_576

/** Builds the HTTP API: parse, call a package, answer. It listens when the caller says so. */
export function buildApi(context: ApiContext): FastifyInstance {
  const loggerInstance: FastifyBaseLogger = context.log
  const api = fastify({
    loggerInstance,
    bodyLimit,
    requestTimeout: 30_000,
    forceCloseConnections: 'idle',
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => crypto.randomUUID(),
  })
  api.removeContentTypeParser('text/plain')
  api.setNotFoundHandler((_, reply) => answer(reply, errors.notFound()))
  api.setErrorHandler((error, _, reply) => answerError(error, reply))
  api.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id)
  })
  api.addHook('onResponse', async (request, reply) => {
    // The route, not the address: an address may hold a token.
    const { method, routeOptions } = request
    const took = Math.round(reply.elapsedTime)
    request.log.info(
      { method, route: routeOptions.url, status: reply.statusCode, ms: took, app_id: request.appId },
      'request',
    )
  })
  api.decorateRequest('appId')

  healthRoutes(api, context)
  errorFileRoutes(api, context)
  bulkImportRoutes(api, context)
  return api
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The app whose token the request carries; set by `authentication`. */
    appId?: number
  }
}
