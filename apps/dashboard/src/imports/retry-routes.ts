import { RetryRefused, retryImport, TooManyWaiting } from '@sluice/imports'
import type { FastifyRequest } from 'fastify'
import { visitedApp, visitorOf } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { type OneImport, snapshotFor } from './one-import.ts'
import { sendRetryQuestion, sendRetryRefused } from './retry-pages.ts'

const importParameter = ({ params }: FastifyRequest) => (params as OneImport['Params']).importId

/** Adds the page that asks for confirmation before an import is retried, and its button. */
export const retryRoutes: PageRoutes = (dashboard, context) => {
  dashboard.get<OneImport>('/apps/:appId/imports/:importId/retry', async (request, reply) => {
    const { details } = await snapshotFor(context, request)
    return sendRetryQuestion(reply, visitedApp(request).appId, details)
  })

  const config = { audit: { what: 'import.retry', target: importParameter } } as const
  dashboard.post<OneImport>('/apps/:appId/imports/:importId/retry', { config }, async (request, reply) => {
    const { appId } = visitedApp(request)
    const { details } = await snapshotFor(context, request)
    const importId = details.view.import_id
    try {
      const retryId = await retryImport(context, { appId, importId }, visitorOf(request).email)
      request.log.info({ app_id: appId, import_id: importId, retry_id: retryId }, 'import retried')
      return reply.redirect(`/apps/${appId}/imports/${retryId}`, 303)
    } catch (error) {
      if (!(error instanceof RetryRefused || error instanceof TooManyWaiting)) throw error
      return sendRetryRefused(reply, `/apps/${appId}/imports/${importId}`, error.message)
    }
  })
}
