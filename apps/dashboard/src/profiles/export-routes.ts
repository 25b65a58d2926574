import { limits } from '@sluice/contract'
import { followExportLink, requestExport, showExport } from '@sluice/exports'
import { formOf } from '../access/forms.ts'
import { PageNotFound, visitedApp, visitorOf } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { sendProfiles } from './profiles-page.ts'

interface OneExport {
  Params: { exportId: string }
}

/** Adds the request of an export (second-day.md §3, Exports), and the download of its file. */
export const exportRoutes: PageRoutes = (dashboard, context) => {
  const { db, storage, apiUrl, requestLimiter } = context
  const config = { audit: { what: 'export.request' } } as const

  dashboard.post('/apps/:appId/profiles/exports', { config }, async (request, reply) => {
    const { appId } = visitedApp(request)
    await requestLimiter?.countExport(appId)
    const keys = [...new Set(formOf(request).getAll('key'))]
    if (keys.length > limits.exportKeys) {
      const problem = `An export has at most ${limits.exportKeys} keys.`
      return await sendProfiles(context, request, reply.code(400), { problem })
    }
    const requested = await requestExport(db, appId, keys.length === 0 ? undefined : keys)
    if (!('exportId' in requested)) {
      const problem = 'A ticked key is not registered, or disabled.'
      return await sendProfiles(context, request, reply.code(400), { problem })
    }
    request.auditTarget = requested.exportId
    request.log.info({ app_id: appId, export_id: requested.exportId, by: visitorOf(request).email }, 'export requested')
    return reply.redirect(`/apps/${appId}/profiles#exports`, 303)
  })

  dashboard.get<OneExport>('/apps/:appId/profiles/exports/:exportId/file', async (request, reply) => {
    const view = await showExport(db, apiUrl, visitedApp(request).appId, request.params.exportId)
    const token = view?.file_url?.split('/').at(-1)
    const followed = token === undefined ? 'unknown' : await followExportLink(db, storage, token)
    if (typeof followed === 'string') throw new PageNotFound()
    return reply.redirect(followed.url, 302)
  })
}
