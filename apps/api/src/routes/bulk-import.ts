import { errors, parseImportRequest } from '@sluice/contract'
import { requestImport, showImport } from '@sluice/imports'
import type { FastifyInstance } from 'fastify'
import { answer } from '../answers.ts'
import { appOf, authentication } from '../authentication.ts'
import type { ApiContext } from '../context.ts'

const path = '/v3/user_profiles/bulk_import'

/** Bulk import v3: the first request, and the status of an import. */
export function bulkImportRoutes(api: FastifyInstance, context: ApiContext): void {
  const { db, storage, apiUrl } = context
  const onRequest = authentication(context)

  api.post(path, { onRequest }, async (request, reply) => {
    const parsed = parseImportRequest(request.body)
    if ('messages' in parsed) return answer(reply, errors.badRequest(...parsed.messages))
    const { importId, descriptor } = await requestImport(db, storage, appOf(request), parsed.request)
    request.log.info({ app_id: request.appId, import_id: importId }, 'import requested')
    return reply.header('X-Import-Id', importId).send(descriptor)
  })

  api.get<{ Params: { importId: string } }>(`${path}/:importId`, { onRequest }, async (request, reply) => {
    const found = await showImport(db, apiUrl, request.params.importId, appOf(request))
    return found ?? answer(reply, errors.notFound())
  })
}
