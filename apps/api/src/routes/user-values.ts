import { errors } from '@sluice/contract'
import { removeValue } from '@sluice/profiles'
import type { FastifyInstance } from 'fastify'
import { answer } from '../answers.ts'
import { appOf, authentication } from '../authentication.ts'
import type { ApiContext } from '../context.ts'
import { ignoreBodies } from '../request-body.ts'

/** Adds the removal of one value of one user, which is an extension. */
export function userValueRoutes(api: FastifyInstance, context: ApiContext): void {
  const onRequest = authentication(context)
  api.register(async (scope) => {
    // Clients send a Content-Type with every request, even without a body.
    ignoreBodies(scope)
    scope.delete<{ Params: { userId: string; key: string } }>(
      '/v1/users/:userId/profiles/:key',
      { onRequest, config: { audit: { nothing: 'a change of profile values' } } },
      async (request, reply) => {
        const { userId, key } = request.params
        const isRegistered = await removeValue(context.db, appOf(request), userId, key)
        return isRegistered ? reply.code(204).send() : answer(reply, errors.notFound())
      },
    )
  })
}
