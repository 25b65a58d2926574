import { errors, limits, parseUserRegistration, type UserRegistrationAnswer } from '@sluice/contract'
import { showUserDocument } from '@sluice/deletions'
import { registerUsers } from '@sluice/profiles'
import type { FastifyInstance } from 'fastify'
import { answer } from '../answers.ts'
import { appOf, authentication } from '../authentication.ts'
import type { ApiContext } from '../context.ts'

/**
 * Adds the registration of users, and reading one user back. Both are extensions: service.md does not specify how an
 * app registers its user IDs.
 */
export function userRoutes(api: FastifyInstance, context: ApiContext): void {
  const onRequest = authentication(context)

  const config = { idempotency: {}, audit: { nothing: 'user IDs' } }
  api.post('/v1/users', { onRequest, config, bodyLimit: limits.userRegistrationBytes }, async (request, reply) => {
    const parsed = parseUserRegistration(request.body)
    if ('messages' in parsed) return answer(reply, errors.badRequest(...parsed.messages))
    await registerUsers(context.db, appOf(request), parsed.userIds)
    const registered: UserRegistrationAnswer = { status: 'accepted' }
    return reply.code(202).send(registered)
  })

  api.get<{ Params: { userId: string } }>('/v1/users/:userId', { onRequest }, async (request, reply) => {
    const user = await showUserDocument(context.db, appOf(request), request.params.userId)
    return user ?? answer(reply, errors.notFound())
  })
}
