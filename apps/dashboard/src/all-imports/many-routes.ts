import { type AuditAction, audited } from '@sluice/audit-log'
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
import type { FastifyRequest } from 'fastify'
import { actorOf } from '../access/audit.ts'
import { formOf } from '../access/forms.ts'
import { PageNotFound, visitorOf } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { filterTextsOf, type ListRequest } from '../imports/list-page.ts'
import { counted } from '../layout/format.ts'
import { type ManyVerb, sendManyQuestion, sendManyResults } from './many-pages.ts'

/** Maximum number of imports that one click retries or cancels. */
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

/** Adds the pages that retry or cancel all imports of a filter (changes.md §6). A click applies to what was shown. */
export const manyImportsRoutes: PageRoutes = (dashboard, context) => {
  const { db, apiUrl } = context
  for (const verb of ['retry', 'cancel'] as const) {
    const { what, states, find } = actions[verb]
    dashboard.get(`/imports/${verb}`, { config: { access: 'operators' } }, async (request: ListRequest, reply) => {
      const filter = parseImportFilter(filterTextsOf(request))
      if ('invalid' in filter) throw new PageNotFound()
      const { imports, next } = await findImports(db, apiUrl, filter, { limit: mostImports })
      const importIds = imports.map(({ view }) => view.import_id)
      const found = await find(db, { states, importIds })
      return sendManyQuestion(reply, verb, { imports, found, isCut: next !== undefined })
    })
    const config = { access: 'operators', audit: { what } } as const
    dashboard.post(`/imports/${verb}`, { config }, async (request, reply) => {
      const importIds = (formOf(request).get('imports') ?? '').split(' ').filter(isUuid)
      const found = await find(db, { states, importIds })
      const results = await runByApp(context, request, actions[verb], found)
      return sendManyResults(reply, verb, results)
    })
  }
}

/** Does an action to imports, app by app, each with an entry in the audit log. */
async function runByApp(
  context: DashboardContext,
  request: FastifyRequest,
  { what, run }: ManyAction,
  imports: readonly ImportId[],
): Promise<OneOfMany[]> {
  const visitor = visitorOf(request)
  const byApp = Map.groupBy(imports, ({ appId }) => appId)
  request.auditTarget = `${counted(imports.length, 'import')} of ${counted(byApp.size, 'app')}`
  const results: OneOfMany[] = []
  for (const [appId, ofApp] of byApp) {
    const event = { appId, what, who: actorOf(visitor), target: counted(ofApp.length, 'import') }
    results.push(...(await audited(context.db, event, () => run(context, ofApp, visitor.email))))
    context.wakeWorker?.(appId)
  }
  return results
}
