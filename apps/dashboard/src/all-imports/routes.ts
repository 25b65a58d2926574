import { type AuditAction, auditedByApp, targetOfMany } from '@sluice/audit-log'
import { type ImportState, isUuid, unfinishedImportStates } from '@sluice/contract'
import {
  cancelMany,
  findImports,
  findImportsToCancel,
  findImportsToRetry,
  type ImportId,
  type OneOfMany,
  parseImportFilter,
  retryImports,
} from '@sluice/imports'
import { actorOf } from '../access/audit.ts'
import { formOf } from '../access/forms.ts'
import { PageNotFound, visitorOf } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { filterTextsOf, type ListRequest, sendList } from '../imports/list-page.ts'
import { addressOf } from '../layout/filters.ts'
import { type ManyVerb, sendManyQuestion, sendManyResults } from './many-pages.ts'

/** Maximum number of imports in a request that retries or cancels them. */
const mostImports = 500

/** What a page does with the imports of a filter. */
interface ManyAction {
  what: AuditAction
  states: readonly ImportState[]
  find: typeof findImportsToRetry
  run(context: DashboardContext, imports: readonly ImportId[], email: string): Promise<OneOfMany[]>
}

const actions: Readonly<Record<ManyVerb, ManyAction>> = {
  retry: {
    what: 'import.retry',
    states: ['failed', 'cancelled'],
    find: findImportsToRetry,
    run: (context, imports, requestedBy) => retryImports(context, imports, { requestedBy }),
  },
  cancel: {
    what: 'import.cancel',
    states: unfinishedImportStates,
    find: findImportsToCancel,
    run: ({ db }, imports) => cancelMany(db, imports),
  },
}

/** Adds the list of the imports of all apps, and what can be done to all that it shows. */
export const allImportsRoutes: PageRoutes = (dashboard, context) => {
  dashboard.get('/imports', { config: { access: 'operators' } }, async (request: ListRequest, reply) => {
    return await sendList(request, reply, context, { title: 'All imports', area: 'all-imports', address: '/imports' })
  })
  manyImportsRoutes(dashboard, context)
}

/** Adds the pages that retry or cancel all imports of a filter (changes.md §6). A click applies to what was shown. */
const manyImportsRoutes: PageRoutes = (dashboard, context) => {
  const { db, apiUrl } = context
  for (const verb of ['retry', 'cancel'] as const) {
    const { what, states, find, run } = actions[verb]
    dashboard.get(`/imports/${verb}`, { config: { access: 'operators' } }, async (request: ListRequest, reply) => {
      const texts = filterTextsOf(request)
      const filter = parseImportFilter(texts)
      if ('invalid' in filter) throw new PageNotFound()
      const { imports, next } = await findImports(db, apiUrl, filter, { limit: mostImports })
      const importIds = imports.map(({ view }) => view.import_id)
      const found = await find(db, { states, importIds })
      const back = addressOf('/imports', texts)
      return sendManyQuestion(reply, verb, { imports, found, isCut: next !== undefined, back })
    })
    const config = { access: 'operators', audit: { what } } as const
    dashboard.post(`/imports/${verb}`, { config }, async (request, reply) => {
      const importIds = (formOf(request).get('imports') ?? '').split(' ').filter(isUuid)
      const found = await find(db, { states, importIds })
      const visitor = visitorOf(request)
      request.auditTarget = targetOfMany('import', found)
      const event = { what, who: actorOf(visitor), noun: 'import' }
      const results = await auditedByApp(db, event, found, (ofApp) => run(context, ofApp, visitor.email))
      for (const appId of new Set(found.map((each) => each.appId))) context.wakeWorker?.(appId)
      return sendManyResults(reply, verb, results)
    })
  }
}
