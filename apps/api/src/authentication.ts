import { tokenKey } from '@sluice/accounts'
import { errors } from '@sluice/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { answer } from './answers.ts'
import type { ApiContext } from './context.ts'

/**
 * Returns a hook that refuses requests without a valid API token, and sets `request.appId`
 * (service.md, Authentication 1; service.md, Authentication 3; design.md §3, Token missing).
 * The hook runs before the body is read.
 */
export function authentication({ authenticate }: ApiContext) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const token = request.headers['x-service-token']
    if (token === undefined || token === '') {
      return answer(reply.header('WWW-Authenticate', 'X-Service-Token realm="Sluice"'), errors.unauthorized())
    }
    const owner = typeof token === 'string' ? await authenticate(token) : undefined
    if (owner === undefined) return answer(reply, errors.forbidden())
    request.appId = owner.appId
    request.bulkImportLimit = owner.bulkImportLimit
  }
}

/**
 * Returns the last four characters of an authenticated request's token. They identify the token without revealing it.
 */
export function tokenLastFour({ headers }: FastifyRequest): string {
  return String(headers['x-service-token']).slice(-4)
}

/** Returns who sent an authenticated request, as pages show it. */
export function requesterOf(request: FastifyRequest): string {
  return `API token …${tokenLastFour(request)}`
}

/**
 * Returns the subject of an authenticated request's rate limits: its token (service.md, Rate rules;
 * design.md §3, Rate limits). The text does not reveal the token, and begins with the app's ID.
 */
export function rateSubject(request: FastifyRequest): string {
  return `${appOf(request)}:${tokenKey(String(request.headers['x-service-token']))}`
}

/** Returns the app of an authenticated request. Throws if the route has no authentication hook. */
export function appOf(request: FastifyRequest): number {
  if (request.appId === undefined) throw new Error(`${request.routeOptions.url} has no authentication hook`)
  return request.appId
}
