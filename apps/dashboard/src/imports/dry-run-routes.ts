import { importCheckedFile, RetryRefused, TooManyWaiting } from '@sluice/imports'
import { registeredKeys } from '@sluice/profiles'
import { formOf } from '../access/forms.ts'
import { PageNotFound, visitedApp, visitorOf } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { readKeepChanges } from '../data-import/keep-changes-field.ts'
import { isImportable, sendImportQuestion } from './dry-run-pages.ts'
import { detailsFor, importParameter, type OneImport, sendRefused } from './one-import.ts'

const refusedTitle = 'The file cannot be imported'
const tooManyFiles = new Error('too many files were imported lately. Please try again later')

/** Adds the page that asks for confirmation before the file of a dry run is imported, and its button. */
export const dryRunRoutes: PageRoutes = (dashboard, context) => {
  const path = '/apps/:appId/imports/:importId/import'
  dashboard.get<OneImport>(path, async (request, reply) => {
    const { appId } = visitedApp(request)
    const details = await detailsFor(context, request)
    if (!isImportable(details)) throw new PageNotFound()
    return sendImportQuestion(reply, appId, details, new Set((await registeredKeys(context.db, appId)).keys()))
  })

  const config = { audit: { what: 'import.start', target: importParameter } } as const
  dashboard.post<OneImport>(path, { config }, async (request, reply) => {
    const { appId } = visitedApp(request)
    const checkedId = (await detailsFor(context, request)).view.import_id
    const address = `/apps/${appId}/imports/${checkedId}`
    const retryAfter = await context.uploadLimiter?.refuse(appId)
    if (retryAfter !== undefined) {
      reply.code(429).header('Retry-After', retryAfter)
      return sendRefused(reply, refusedTitle, address, tooManyFiles)
    }
    try {
      const importId = await importCheckedFile(
        context,
        { appId, importId: checkedId },
        { requestedBy: visitorOf(request).email, keepChanges: readKeepChanges(formOf(request)) },
      )
      request.log.info({ app_id: appId, import_id: importId, checked_id: checkedId }, 'file of a dry run imported')
      context.wakeWorker?.(appId)
      return reply.redirect(`/apps/${appId}/imports/${importId}`, 303)
    } catch (error) {
      if (!(error instanceof RetryRefused || error instanceof TooManyWaiting)) throw error
      return sendRefused(reply.code(409), refusedTitle, address, error)
    }
  })
}
