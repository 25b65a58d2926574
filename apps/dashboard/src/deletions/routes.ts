import { listDeletions, openDeletions } from '@sluice/deletions'
import { visitedApp } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { deletionsContent } from './deletions-page.ts'

/** Maximum number of requests that the list shows. */
const listLimit = 200

/** Adds the page of deletion requests with their dates. */
export const deletionRoutes: PageRoutes = (dashboard, { db }) => {
  dashboard.get('/apps/:appId/deletions', async (request, reply) => {
    const { appId } = visitedApp(request)
    const [open, requests] = await Promise.all([openDeletions(db, appId), listDeletions(db, appId, listLimit)])
    const content = deletionsContent({ ...open, requests, listLimit, now: new Date() })
    return sendPage(reply, { title: 'Deletions', area: 'deletions', content })
  })
}
