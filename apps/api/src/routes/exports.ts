import { type ExportAnswer, errors, parseExportRequest } from '@sluice/contract'
import { followExportLink, requestExport, showExport } from '@sluice/exports'
import type { FastifyInstance } from 'fastify'
import { answer } from '../answers.ts'
import { appOf, authentication } from '../authentication.ts'
import type { ApiContext } from '../context.ts'
import { responseRecorder } from '../keyed-request.ts'
import { fileLinkRoute } from './file-link.ts'

/** Adds exports of all profiles, an extension: the request, its state, and the link to the file. */
export function exportRoutes(api: FastifyInstance, context: ApiContext): void {
  const { db, storage, apiUrl } = context
  const onRequest = authentication(context)
  const queued = (exportId: string): ExportAnswer => ({ export_id: exportId, state: 'queued' })

  api.post(
    '/v1/exports',
    { onRequest, config: { idempotency: {}, audit: { what: 'export.request' } } },
    async (request, reply) => {
      const parsed = parseExportRequest(request.body)
      if ('messages' in parsed) return answer(reply, errors.badRequest(...parsed.messages))
      const record = responseRecorder(request)
      const requested = await requestExport(db, appOf(request), parsed.keys, (tx, exportId) =>
        record?.(tx, { status: 202, body: queued(exportId), importId: null }),
      )
      if ('unregistered' in requested) return answer(reply, errors.unregisteredKeys(requested.unregistered))
      request.auditTarget = requested.exportId
      request.log.info({ app_id: request.appId, export_id: requested.exportId }, 'export requested')
      return reply.code(202).send(queued(requested.exportId))
    },
  )

  api.get<{ Params: { exportId: string } }>('/v1/exports/:exportId', { onRequest }, async (request, reply) => {
    const found = await showExport(db, apiUrl, appOf(request), request.params.exportId)
    return found ?? answer(reply, errors.notFound())
  })

  fileLinkRoute(api, '/export_files', (token) => followExportLink(db, storage, token))
}
