import { cancelImport, findPauses, followErrorLink, listImportsBefore } from '@sluice/imports'
import type { FastifyRequest } from 'fastify'
import { PageNotFound, visitedApp } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { dryRunRoutes } from './dry-run-routes.ts'
import { EventStreams } from './event-streams.ts'
import { sendCancelQuestion, sendImport, sendTooLate } from './import-page.ts'
import { sendList } from './list-page.ts'
import { openLiveImports } from './live-imports.ts'
import { type OneImport, snapshotFor } from './one-import.ts'
import { retryRoutes } from './retry-routes.ts'

/** The number of imports on one page of the list. */
const pageSize = 25

const importParameter = ({ params }: FastifyRequest) => (params as OneImport['Params']).importId

/** Adds the list of an app's imports, the live page of each import, its error file, its cancellation and its retry. */
export const importRoutes: PageRoutes = (dashboard, context) => {
  const { db, storage, apiUrl } = context
  cancelRoutes(dashboard, context)
  retryRoutes(dashboard, context)
  dryRunRoutes(dashboard, context)
  const streams = new EventStreams(openLiveImports(context))
  dashboard.addHook('preClose', async () => streams.close())

  dashboard.get<{ Querystring: { before?: string } }>('/apps/:appId/imports', async (request, reply) => {
    const { appId } = visitedApp(request)
    const text = String(request.query.before ?? '')
    const before = /^\d{1,15}$/.test(text) ? Number(text) : undefined
    const page = before === undefined ? {} : { before }
    const imports = await listImportsBefore(db, apiUrl, appId, { ...page, limit: pageSize + 1 })
    const shown = imports.slice(0, pageSize)
    const older = imports.length > pageSize ? shown.at(-1)?.sequenceNumber : undefined
    const pauses = await findPauses(db, appId)
    const isPaused = pauses.ofApp !== null || pauses.ofAllApps !== null
    return sendList(reply, appId, shown, { older, isFirst: before === undefined, isPaused })
  })

  dashboard.get<OneImport>('/apps/:appId/imports/:importId', async (request, reply) => {
    return sendImport(reply, visitedApp(request).appId, await snapshotFor(context, request))
  })

  dashboard.get<OneImport>('/apps/:appId/imports/:importId/events', async (request, reply) => {
    const { details } = await snapshotFor(context, request)
    return streams.send(request, reply, visitedApp(request).appId, details.view.import_id)
  })

  dashboard.get<OneImport>('/apps/:appId/imports/:importId/error-file', async (request, reply) => {
    const { details } = await snapshotFor(context, request)
    const token = details.view.error_file_url?.split('/').at(-1)
    const followed = token === undefined ? 'unknown' : await followErrorLink(db, storage, token)
    if (typeof followed === 'string') throw new PageNotFound()
    return reply.redirect(followed.url, 302)
  })
}

/** Adds the question before an import is cancelled, and its cancellation. */
const cancelRoutes: PageRoutes = (dashboard, context) => {
  dashboard.get<OneImport>('/apps/:appId/imports/:importId/cancel', async (request, reply) => {
    const { details } = await snapshotFor(context, request)
    return sendCancelQuestion(reply, visitedApp(request).appId, details)
  })

  const cancel = { audit: { what: 'import.cancel', target: importParameter } } as const
  dashboard.post<OneImport>('/apps/:appId/imports/:importId/cancel', { config: cancel }, async (request, reply) => {
    const { appId } = visitedApp(request)
    const { importId } = request.params
    const cancellation = await cancelImport(context.db, importId, appId)
    if (cancellation.outcome === 'unknown') throw new PageNotFound()
    const address = `/apps/${appId}/imports/${importId}`
    if (cancellation.outcome === 'ended') return sendTooLate(reply, address)
    request.auditChange = cancellation.isNew
    request.log.info({ app_id: appId, import_id: importId, by: request.visitor?.email }, 'import cancelled')
    return reply.redirect(address, 303)
  })
}
