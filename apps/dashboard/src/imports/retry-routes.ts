import { RetryRefused, retryImport, TooManyWaiting } from '@sluice/imports'
import { visitedApp, visitorOf } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { detailsFor, importParameter, type OneImport, sendRefused } from './one-import.ts'
import { sendRetryQuestion } from './retry-pages.ts'

/** Adds the page that asks for confirmation before an import is retried, and its button. */
export const retryRoutes: PageRoutes = (dashboard, context) => {
  dashboard.get<OneImport>('/apps/:appId/imports/:importId/retry', async (request, reply) => {
    return sendRetryQuestion(reply, visitedApp(request).appId, await detailsFor(context, request))
  })

  const config = { audit: { what: 'import.retry', target: importParameter } } as const
  dashboard.post<OneImport>('/apps/:appId/imports/:importId/retry', { config }, async (request, reply) => {
    const { appId } = visitedApp(request)
    const importId = (await detailsFor(context, request)).view.import_id
    try {
      const retryId = await retryImport(context, { appId, importId }, visitorOf(request).email)
      request.log.info({ app_id: appId, import_id: importId, retry_id: retryId }, 'import retried')
      context.wakeWorker?.(appId)
      return reply.redirect(`/apps/${appId}/imports/${retryId}`, 303)
    } catch (error) {
      if (!(error instanceof RetryRefused || error instanceof TooManyWaiting)) throw error
      const address = `/apps/${appId}/imports/${importId}`
      return sendRefused(reply.code(409), 'The import cannot be retried', address, error)
    }
  })
}
