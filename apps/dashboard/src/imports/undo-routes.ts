import { lastUndoDryRun, showDetails, TooManyWaiting, UndoRefused, undoImport } from '@sluice/imports'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { PageNotFound, visitedApp, visitorOf } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { detailsFor, importParameter, type OneImport, sendRefused } from './one-import.ts'
import { isUndoable, sendUndoQuestion } from './undo-pages.ts'

/** Adds the page that asks for confirmation before an import is undone, its button, and its dry run. */
export const undoRoutes: PageRoutes = (dashboard, context) => {
  const path = '/apps/:appId/imports/:importId/undo'
  dashboard.get<OneImport>(path, async (request, reply) => {
    const details = await detailsFor(context, request)
    if (!isUndoable(details.view)) throw new PageNotFound()
    const { appId } = visitedApp(request)
    const dryRunId = await lastUndoDryRun(context.db, { appId, importId: details.view.import_id })
    const dryRun = dryRunId && (await showDetails(context.db, context.apiUrl, appId, dryRunId))
    return sendUndoQuestion(reply, appId, details, dryRun || undefined)
  })
  const config = { audit: { what: 'import.undo', target: importParameter } } as const
  dashboard.post<OneImport>(path, { config }, undo(context, { dryRun: false }))
  const checks = { audit: { unrecordedBecause: 'a dry run changes nothing' } } as const
  dashboard.post<OneImport>(`${path}/dry-run`, { config: checks }, undo(context, { dryRun: true }))
}

/** Returns the handler that undoes an import, or counts what an undo would do. */
function undo(context: DashboardContext, { dryRun }: { dryRun: boolean }) {
  return async (request: FastifyRequest<OneImport>, reply: FastifyReply): Promise<FastifyReply> => {
    const { appId } = visitedApp(request)
    const importId = (await detailsFor(context, request)).view.import_id
    try {
      const undoId = await undoImport(context, { appId, importId }, { dryRun, requestedBy: visitorOf(request).email })
      request.log.info({ app_id: appId, import_id: undoId, undo_of: importId, dry_run: dryRun }, 'undo queued')
      context.wakeWorker?.(appId)
      // The question shows what its dry run counts.
      return reply.redirect(`/apps/${appId}/imports/${dryRun ? `${importId}/undo` : undoId}`, 303)
    } catch (error) {
      if (!(error instanceof UndoRefused || error instanceof TooManyWaiting)) throw error
      const address = `/apps/${appId}/imports/${importId}`
      return sendRefused(reply.code(409), 'The import cannot be undone', address, error)
    }
  }
}
