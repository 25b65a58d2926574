import type { PageRoutes } from '../context.ts'
import { type ListRequest, sendList } from '../imports/list-page.ts'
import { manyImportsRoutes } from './many-routes.ts'

/** Adds the list of the imports of all apps. */
export const allImportsRoutes: PageRoutes = (dashboard, context) => {
  const config = { access: 'operators' } as const
  dashboard.get('/imports', { config }, async (request: ListRequest, reply) => {
    return await sendList(request, reply, context, { title: 'All imports', area: 'all-imports', address: '/imports' })
  })
  manyImportsRoutes(dashboard, context)
}
