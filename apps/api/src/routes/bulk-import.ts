import { errors, parseImportRequest, refusedTypes } from '@sluice/contract'
import { cancelImport, renewUpload, requestImport, showImport } from '@sluice/imports'
import { TypeConflict } from '@sluice/profiles'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { answer } from '../answers.ts'
import { appOf, authentication } from '../authentication.ts'
import type { ApiContext } from '../context.ts'
import { responseRecorder } from '../keyed-request.ts'
import { ignoreBodies } from '../request-body.ts'

const path = '/v3/user_profiles/bulk_import'

interface OneImport {
  Params: { importId: string }
}

const importParameter = ({ params }: FastifyRequest) => (params as OneImport['Params']).importId

/** Adds the first request of bulk import v3, and the status and cancellation of an import. */
export function bulkImportRoutes(api: FastifyInstance, context: ApiContext): void {
  const { db, apiUrl } = context
  const onRequest = authentication(context)

  // The upload address in a stored response may have expired, so a repetition gets a fresh address.
  const refresh = (request: FastifyRequest, importId: string) => renewUpload(context, appOf(request), importId)
  const config = { idempotency: { refresh }, audit: { nothing: 'the import is the record' } }
  api.post(path, { onRequest, config }, async (request, reply) => {
    const parsed = parseImportRequest(request.body)
    if ('messages' in parsed) return answer(reply, errors.badRequest(...parsed.messages))
    const record = responseRecorder(request)
    try {
      const { importId, descriptor } = await requestImport(context, appOf(request), parsed.request, (tx, requested) =>
        record?.(tx, { status: 200, body: requested.descriptor, importId: requested.importId }),
      )
      request.log.info({ app_id: request.appId, import_id: importId }, 'import requested')
      return reply.header('X-Import-Id', importId).send(descriptor)
    } catch (error) {
      if (error instanceof TypeConflict) return answer(reply, errors.badRequest(...refusedTypes(error.messages)))
      throw error
    }
  })

  api.get<OneImport>(`${path}/:importId`, { onRequest }, async (request, reply) => {
    const found = await showImport(db, apiUrl, request.params.importId, appOf(request))
    return found ?? answer(reply, errors.notFound())
  })

  api.register(async (scope) => {
    // Clients send a Content-Type with every request, even without a body.
    ignoreBodies(scope)
    const config = { audit: { what: 'import.cancel', target: importParameter } } as const
    scope.delete<OneImport>(`${path}/:importId`, { onRequest, config }, async (request, reply) => {
      const { importId } = request.params
      const cancellation = await cancelImport(db, importId, appOf(request))
      if (cancellation.outcome === 'ended') return answer(reply, errors.importEnded(cancellation.state))
      if (cancellation.outcome === 'cancelled') request.auditChange = cancellation.isNew
      if (request.auditChange) request.log.info({ import_id: importId }, 'import cancelled')
      const found = await showImport(db, apiUrl, importId, appOf(request))
      return found ?? answer(reply, errors.notFound())
    })
  })
}
