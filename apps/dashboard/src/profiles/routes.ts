import { showUserDeletion } from '@sluice/deletions'
import { showUser, userIdProblem } from '@sluice/profiles'
import { visitedApp } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { profileDeletionRoutes } from './deletion-routes.ts'
import { exportRoutes } from './export-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { sendProfiles } from './profiles-page.ts'
import { lookupForm, userContent } from './user-sections.ts'

/** Adds the page of the registered keys, the lookup of one user, exports, and the deletion of users. */
export const profileRoutes: PageRoutes = (dashboard, context) => {
  const { db } = context
  exportRoutes(dashboard, context)
  profileDeletionRoutes(dashboard, context)
  keyRoutes(dashboard, context)

  dashboard.get('/apps/:appId/profiles', async (request, reply) => await sendProfiles(context, request, reply))

  dashboard.get<{ Querystring: { user?: string | string[] } }>('/apps/:appId/profiles/user', async (request, reply) => {
    const { appId } = visitedApp(request)
    const userId = [request.query.user ?? ''].flat()[0] ?? ''
    // An ID that cannot be registered needs no query.
    const problem = userIdProblem(userId)
    const user = problem === undefined ? await showUser(db, appId, userId) : undefined
    const deletion = problem === undefined ? await showUserDeletion(db, appId, userId) : null
    const content = [lookupForm(appId, userId), userContent(request, { userId, problem, user, deletion })]
    return sendPage(user === undefined ? reply.code(404) : reply, { title: 'One user', area: 'profiles', content })
  })
}
