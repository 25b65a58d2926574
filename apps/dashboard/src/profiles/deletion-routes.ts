import { limits } from '@sluice/contract'
import { currentTime } from '@sluice/database'
import { deletionDates, requestDeletion } from '@sluice/deletions'
import { findUnregistered, userIdProblem } from '@sluice/profiles'
import type { FastifyRequest } from 'fastify'
import { formOf } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { count, counted } from '../layout/format.ts'
import { sendPage } from '../layout/page.ts'
import { confirmDeletion } from './deletion-parts.ts'
import { sendProfiles } from './profiles-page.ts'

/** Room for what the API accepts, bytes. The encoding of forms writes a byte as up to three characters. */
const bodyLimit = 3 * limits.userIdListBytes

/** Maximum length of a wrong user ID in its message. */
const shownLength = 60

const usersField = (request: FastifyRequest) => formOf(request).get('users') ?? ''

/** Returns the different user IDs of a text with one ID per line, or what is wrong with it. */
function parseUserIds(text: string): string[] | { problem: string } {
  const userIds = [...new Set(text.split(/\r\n|\r|\n/).filter((line) => line !== ''))]
  if (userIds.length === 0) return { problem: 'There is no user ID.' }
  if (userIds.length > limits.userIdsPerRequest) {
    return { problem: `There are ${counted(userIds.length, 'user ID')}, more than ${count(limits.userIdsPerRequest)}.` }
  }
  const invalid = userIds.find((userId) => userIdProblem(userId) !== undefined)
  if (invalid !== undefined) {
    const shown = invalid.length > shownLength ? `${invalid.slice(0, shownLength)}…` : invalid
    return { problem: `The user ID ${shown} ${userIdProblem(invalid)}.` }
  }
  return userIds
}

/** Adds the question before users are deleted, and the deletion request (service.md, Deletion request). */
export const profileDeletionRoutes: PageRoutes = (dashboard, context) => {
  const { db, settings } = context
  const check = { bodyLimit, config: { audit: { unrecordedBecause: 'it only asks' } } } as const
  const change = { bodyLimit, config: { audit: { what: 'deletion.request' } } } as const

  dashboard.post('/apps/:appId/profiles/deletion/check', check, async (request, reply) => {
    const users = usersField(request)
    const userIds = parseUserIds(users)
    if (!Array.isArray(userIds)) return await sendProfiles(context, request, reply.code(400), { ...userIds, users })
    const planned = {
      ...deletionDates(await currentTime(db), settings.SERVICE_TIMEZONE),
      userIds,
      unregistered: await findUnregistered(db, visitedApp(request).appId, userIds),
    }
    const title = `Delete ${counted(userIds.length, 'user')}?`
    return sendPage(reply, { title, area: 'profiles', content: confirmDeletion(request, planned) })
  })

  dashboard.post('/apps/:appId/profiles/deletion', change, async (request, reply) => {
    const { appId } = visitedApp(request)
    const users = usersField(request)
    const userIds = parseUserIds(users)
    if (!Array.isArray(userIds)) return await sendProfiles(context, request, reply.code(400), { ...userIds, users })
    request.auditTarget = counted(userIds.length, 'user')
    await requestDeletion({ db, settings }, { appId, userIds, tokenLastFour: null }, await currentTime(db))
    return reply.redirect(`/apps/${appId}/deletions`, 303)
  })
}
