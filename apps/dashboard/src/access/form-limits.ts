import { clientNetwork, openShares } from '@sluice/service'
import type { FastifyInstance } from 'fastify'

/** Forms that are received at the same moment: in one process, and from one person or one address without a session. */
const most = { all: 400, each: 40 }

/** One person, or one address, sends as many forms at the same moment as it may. */
class TooManyForms extends Error {
  override readonly name = 'TooManyForms'
  readonly statusCode = 429
}

/** Bounds the forms that are in flight, so that slow senders leave room for others. Files have shares of their own. */
export function limitForms(dashboard: FastifyInstance): void {
  const shares = openShares(most)
  dashboard.addHook('preParsing', async (request, reply) => {
    const { visitor, ip, method, routeOptions } = request
    if (method === 'GET' || routeOptions.config.upload === true) return
    const release = shares.take([visitor?.email ?? clientNetwork(ip)])
    if (release === undefined) throw new TooManyForms()
    reply.raw.once('close', release)
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is a file. */
    upload?: boolean
  }
}
