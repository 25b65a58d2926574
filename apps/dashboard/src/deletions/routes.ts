import { listDeletions, openDeletions } from '@sluice/deletions'
import { visitedApp } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { deletionsContent } from './deletions-page.ts'

/** Requests that the list shows. */
const listed = 200

/** Deletion requests with their dates, and what is due. */
export const deletionRoutes: PageRoutes = (dashboard, { db }) => {
  dashboard.get('/apps/:appId/deletions', async (request, reply) => {
    const { appId } = visitedApp(request)
    const [open, requests] = await Promise.all([openDeletions(db, appId), listDeletions(db, appId, listed)])
    const content = deletionsContent({ ...open, requests, listed, now: new Date() })
    return sendPage(reply, { title: 'Deletions', area: 'deletions', content })
  })
}
