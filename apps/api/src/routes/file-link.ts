import { errors } from '@sluice/contract'
import type { FastifyInstance } from 'fastify'
import { answer } from '../answers.ts'

/** Where a link leads: to the file's address in storage, or nowhere. */
type Followed = { url: string } | 'unknown' | 'expired'

/**
 * Adds the route `path/:token`, which redirects to a file in storage. It needs no other authentication than the token.
 */
export function fileLinkRoute(api: FastifyInstance, path: string, follow: (token: string) => Promise<Followed>): void {
  api.get<{ Params: { token: string } }>(`${path}/:token`, async (request, reply) => {
    const followed = await follow(request.params.token)
    if (followed === 'unknown') return answer(reply, errors.notFound())
    if (followed === 'expired') return answer(reply, errors.linkExpired())
    return reply
      .header('Cache-Control', 'no-store')
      .header('Referrer-Policy', 'no-referrer')
      .redirect(followed.url, 302)
  })
}
