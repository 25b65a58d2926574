import { errors, limits, parseDeletionRequest } from '@sluice/contract'
import { currentTime } from '@sluice/database'
import { requestDeletion } from '@sluice/deletions'
import type { FastifyInstance } from 'fastify'
import { answer } from '../answers.ts'
import { appOf, authentication, tokenLastFour } from '../authentication.ts'
import type { ApiContext } from '../context.ts'
import { responseRecorder } from '../keyed-request.ts'

/** Adds deletion requests (service.md, Endpoints, 1). The route records a request, and workers process it. */
export function userDataDeletionRoutes(api: FastifyInstance, context: ApiContext): void {
  const onRequest = authentication(context)

  const config = { idempotency: {}, audit: { what: 'deletion.request' } } as const
  api.post(
    '/v3/user_data_deletions',
    { onRequest, config, bodyLimit: limits.deletionBytes },
    async (request, reply) => {
      const parsed = parseDeletionRequest(request.body)
      if ('messages' in parsed) return answer(reply, errors.badRequest(...parsed.messages))
      request.auditTarget = parsed.userIds.length === 1 ? '1 user' : `${parsed.userIds.length} users`
      const accepted = { appId: appOf(request), userIds: parsed.userIds, tokenLastFour: tokenLastFour(request) }
      const body = { status: 'accepted' }
      const record = responseRecorder(request)
      await requestDeletion(context, accepted, await currentTime(context.db), (tx) =>
        record?.(tx, { status: 202, body, importId: null }),
      )
      return reply.code(202).send(body)
    },
  )
}
