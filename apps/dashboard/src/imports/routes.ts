import { isUuid } from '@sluice/contract'
import { html } from '@sluice/html'
import { cancelImport, findPauses, openErrorFile } from '@sluice/imports'
import { openShares, untilClosed } from '@sluice/service'
import { attachment } from '@sluice/storage'
import { PageNotFound, visitedApp, visitorOf } from '../access/guard.ts'
import { TooManyRequests } from '../access/request-limits.ts'
import type { PageRoutes } from '../context.ts'
import { approveRoutes } from './approve-routes.ts'
import { dryRunRoutes } from './dry-run-routes.ts'
import { EventStreams } from './event-streams.ts'
import { sendCancelQuestion, sendImport, sendTooLate } from './import-page.ts'
import { type ListRequest, sendList } from './list-page.ts'
import { openLiveImports } from './live-imports.ts'
import { detailsFor, importParameter, type OneImport, snapshotFor } from './one-import.ts'
import { retryRoutes } from './retry-routes.ts'
import { undoRoutes } from './undo-routes.ts'

/**
 * Maximum number of error files in flight from one process: in all, and to one person or the members of one app.
 * A slow reader holds a connection to storage, and the other pages and the readiness check need connections too.
 */
const errorFilesInFlight = { all: 20, each: 3 }

/** The seconds after which a person may try again if too many error files are being sent. */
const errorFileSeconds = 10

/**
 * Adds the list of an app's imports, the live page of each import, its error file, its approval, its cancellation, its
 * retry and its undo.
 */
export const importRoutes: PageRoutes = (dashboard, context) => {
  const { db, storage } = context
  cancelRoutes(dashboard, context)
  approveRoutes(dashboard, context)
  retryRoutes(dashboard, context)
  dryRunRoutes(dashboard, context)
  undoRoutes(dashboard, context)
  const streams = new EventStreams(openLiveImports(context))
  dashboard.addHook('preClose', async () => streams.close())

  dashboard.get('/apps/:appId/imports', async (request: ListRequest, reply) => {
    const { appId } = visitedApp(request)
    const pauses = await findPauses(db, appId)
    const isPaused = pauses.ofApp !== null || pauses.ofAllApps !== null
    const address = `/apps/${appId}/imports`
    return await sendList(request, reply, context, {
      title: 'Imports',
      area: 'imports',
      address,
      appId,
      above: html`
        ${isPaused && html`<p class="notice warn"><strong>Imports are paused.</strong> Files can still be uploaded; they are imported when an operator resumes imports.</p>`}
        <p class="actions"><a class="button main" href="/apps/${appId}/data-import">Import a file…</a></p>`,
    })
  })

  dashboard.get<OneImport>('/apps/:appId/imports/:importId', async (request, reply) => {
    return sendImport(reply, visitedApp(request).appId, await snapshotFor(context, request))
  })

  dashboard.get<OneImport>('/apps/:appId/imports/:importId/events', async (request, reply) => {
    const { view } = await detailsFor(context, request)
    return streams.send(request, reply, visitedApp(request).appId, view.import_id)
  })

  // Without a route for HEAD, which would read the whole file.
  const download = { exposeHeadRoute: false }
  const shares = openShares(errorFilesInFlight)
  dashboard.get<OneImport>('/apps/:appId/imports/:importId/error-file', download, async (request, reply) => {
    const { appId } = visitedApp(request)
    const { importId } = request.params
    const release = shares.take([visitorOf(request).email, `app ${appId}`])
    if (release === undefined) throw new TooManyRequests(errorFileSeconds)
    untilClosed(reply.raw)(release)
    const file = isUuid(importId) ? await openErrorFile({ db, storage }, { appId, importId }) : undefined
    if (file === undefined) throw new PageNotFound()
    reply.type('text/csv; charset=utf-8').header('Content-Disposition', attachment(file.fileName))
    return reply.send(file.content)
  })
}

/** Adds the question before an import is cancelled, and its cancellation. */
const cancelRoutes: PageRoutes = (dashboard, context) => {
  dashboard.get<OneImport>('/apps/:appId/imports/:importId/cancel', async (request, reply) => {
    return sendCancelQuestion(reply, visitedApp(request).appId, await detailsFor(context, request))
  })

  const cancel = { audit: { what: 'import.cancel', target: importParameter } } as const
  dashboard.post<OneImport>('/apps/:appId/imports/:importId/cancel', { config: cancel }, async (request, reply) => {
    const { appId } = visitedApp(request)
    const { importId } = request.params
    const cancellation = await cancelImport(context.db, { appId, importId })
    if (cancellation.outcome === 'unknown') throw new PageNotFound()
    const address = `/apps/${appId}/imports/${importId}`
    if (cancellation.outcome === 'ended') return sendTooLate(reply, address)
    request.auditChange = cancellation.isNew
    request.log.info({ app_id: appId, import_id: importId, by: request.visitor?.email }, 'import cancelled')
    return reply.redirect(address, 303)
  })
}
