import { errors } from '@sluice/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answer } from './answers.ts'
import type { ApiContext } from './context.ts'

/**
 * A hook that lets only requests with a valid API token through, and sets `request.appId` (service.md, Authentication).
 * It runs before the body is read.
 */
export function authentication({ authenticate }: ApiContext) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const token = request.headers['x-service-token']
    if (token === undefined || token === '') return answer(reply, errors.unauthorized())
    const appId = typeof token === 'string' ? await authenticate(token) : undefined
    if (appId === undefined) return answer(reply, errors.forbidden())
    request.appId = appId
  }
}

/** The last four characters of an authenticated request's token: enough to tell which one it was, and no secret. */
export function tokenLastFour({ headers }: FastifyRequest): string {
  return String(headers['x-service-token']).slice(-4)
}

/** The app of an authenticated request. */
export function appOf(request: FastifyRequest): number {
  if (request.appId === undefined) throw new Error(`${request.routeOptions.url} has no authentication hook`)
  return request.appId
}
