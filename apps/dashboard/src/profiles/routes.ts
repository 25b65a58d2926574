import { showUserDeletion } from '@sluice/deletions'
import { profileStatistics, showUser, userIdProblem } from '@sluice/profiles'
import { visitedApp } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { keysContent } from './key-table.ts'
import { lookupForm, userContent } from './user-sections.ts'

/** Adds the page of the registered keys, and the lookup of one user. */
export const profileRoutes: PageRoutes = (dashboard, { db }) => {
  dashboard.get('/apps/:appId/profiles', async (request, reply) => {
    const { appId } = visitedApp(request)
    const content = [lookupForm(appId, ''), keysContent(await profileStatistics(db, appId))]
    return sendPage(reply, { title: 'Profiles', area: 'profiles', content })
  })

  dashboard.get<{ Querystring: { user?: string | string[] } }>('/apps/:appId/profiles/user', async (request, reply) => {
    const { appId } = visitedApp(request)
    const userId = [request.query.user ?? ''].flat()[0] ?? ''
    // An ID that cannot be registered needs no query.
    const isPossible = userIdProblem(userId) === undefined
    const user = isPossible ? await showUser(db, appId, userId) : undefined
    const deletion = isPossible ? await showUserDeletion(db, appId, userId) : null
    const content = [lookupForm(appId, userId), userContent({ userId, user, deletion })]
    return sendPage(user === undefined ? reply.code(404) : reply, { title: 'One user', area: 'profiles', content })
  })
}
