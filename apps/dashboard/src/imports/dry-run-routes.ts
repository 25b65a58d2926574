import { importCheckedFile, RetryRefused, TooManyWaiting } from '@sluice/imports'
import { registeredKeys } from '@sluice/profiles'
import type { FastifyRequest } from 'fastify'
import { visitedApp, visitorOf } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { sendImportQuestion, sendImportRefused } from './dry-run-pages.ts'
import { type OneImport, snapshotFor } from './one-import.ts'

const importParameter = ({ params }: FastifyRequest) => (params as OneImport['Params']).importId

/** Adds the page that asks for confirmation before the file of a dry run is imported, and its button. */
export const dryRunRoutes: PageRoutes = (dashboard, context) => {
  const path = '/apps/:appId/imports/:importId/import'
  dashboard.get<OneImport>(path, async (request, reply) => {
    const { appId } = visitedApp(request)
    const [{ details }, registered] = await Promise.all([
      snapshotFor(context, request),
      registeredKeys(context.db, appId),
    ])
    return sendImportQuestion(reply, appId, details, registered)
  })

  const config = { audit: { what: 'import.start', target: importParameter } } as const
  dashboard.post<OneImport>(path, { config }, async (request, reply) => {
    const { appId } = visitedApp(request)
    const { importId: checkedId } = request.params
    const { details } = await snapshotFor(context, request)
    const address = `/apps/${appId}/imports/${checkedId}`
    const retryAfter = await context.uploadLimiter?.refuse(appId)
    if (retryAfter !== undefined) {
      reply.code(429).header('Retry-After', retryAfter)
      return sendImportRefused(reply, address, 'too many files were imported lately. Please try again later')
    }
    try {
      const importId = await importCheckedFile(
        context,
        { appId, importId: details.view.import_id },
        visitorOf(request).email,
      )
      request.log.info({ app_id: appId, import_id: importId, checked_id: checkedId }, 'file of a dry run imported')
      return reply.redirect(`/apps/${appId}/imports/${importId}`, 303)
    } catch (error) {
      if (!(error instanceof RetryRefused || error instanceof TooManyWaiting)) throw error
      return sendImportRefused(reply.code(409), address, error.message)
    }
  })
}
