import { errors } from '@sluice/contract'
import { followErrorLink } from '@sluice/imports'
import type { FastifyInstance } from 'fastify'
import { answer } from '../answers.ts'
import type { ApiContext } from '../context.ts'

/** Adds the links in result mails. The token in a link is its authentication. */
export function errorFileRoutes(api: FastifyInstance, { db, storage }: ApiContext): void {
  api.get<{ Params: { token: string } }>('/error_files/:token', async (request, reply) => {
    const followed = await followErrorLink(db, storage, request.params.token)
    if (followed === 'unknown') return answer(reply, errors.notFound())
    if (followed === 'expired') return answer(reply, errors.linkExpired())
    return reply
      .header('Cache-Control', 'no-store')
      .header('Referrer-Policy', 'no-referrer')
      .redirect(followed.url, 302)
  })
}
