import { type FilterTexts, findImports, parseImportFilter } from '@sluice/imports'
import type { PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { allImportsContent } from './all-imports-page.ts'

/** The number of imports on one page. */
const pageSize = 50

const filterNames = ['app', 'state', 'source', 'text', 'since', 'until'] as const

/** Adds the page of the imports of all apps, with filters. */
export const allImportsRoutes: PageRoutes = (dashboard, { db, apiUrl }) => {
  const config = { access: 'operators' } as const
  dashboard.get<{ Querystring: FilterTexts & { after?: string } }>('/imports', { config }, async (request, reply) => {
    const texts: FilterTexts = Object.fromEntries(filterNames.map((name) => [name, String(request.query[name] ?? '')]))
    const after = request.query.after === undefined ? undefined : String(request.query.after)
    const filter = parseImportFilter(texts)
    const isValid = !('invalid' in filter)
    const found = isValid
      ? await findImports(db, apiUrl, filter, { after, limit: pageSize })
      : { imports: [], next: undefined }
    const content = allImportsContent(texts, found, {
      isFirst: after === undefined,
      invalid: isValid ? undefined : filter.invalid,
    })
    return sendPage(isValid ? reply : reply.code(400), { title: 'All imports', area: 'all-imports', content })
  })
}
