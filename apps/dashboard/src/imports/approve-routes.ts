import { approveImport } from '@sluice/imports'
import { PageNotFound, visitedApp, visitorOf } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { sendApproveQuestion, sendNotHeld } from './held-pages.ts'
import { detailsFor, importParameter, type OneImport } from './one-import.ts'

/**
 * Adds the page that asks for confirmation before a held import is applied, and its button
 * (changes.md §2, The decision).
 */
export const approveRoutes: PageRoutes = (dashboard, context) => {
  const path = '/apps/:appId/imports/:importId/approve'
  dashboard.get<OneImport>(path, async (request, reply) => {
    return sendApproveQuestion(reply, visitedApp(request).appId, await detailsFor(context, request))
  })

  const config = { audit: { what: 'import.approve', target: importParameter } } as const
  dashboard.post<OneImport>(path, { config }, async (request, reply) => {
    const { appId } = visitedApp(request)
    const { importId } = request.params
    const { outcome } = await approveImport(context.db, { appId, importId })
    if (outcome === 'unknown') throw new PageNotFound()
    const address = `/apps/${appId}/imports/${importId}`
    if (outcome === 'not held') return sendNotHeld(reply, address)
    context.wakeWorker?.(appId)
    request.log.info({ app_id: appId, import_id: importId, by: visitorOf(request).email }, 'import approved')
    return reply.redirect(address, 303)
  })
}
