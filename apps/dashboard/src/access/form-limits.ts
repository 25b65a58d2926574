import { clientNetwork, continueBody, openShares, untilClosed } from '@sluice/service'
import type { FastifyInstance } from 'fastify'
import { isReading } from './forms.ts'

/**
 * Maximum number of forms in flight in one process. `all` counts the forms of all clients together; `each` those of one
 * person who is signed in, or of all visitors of one network who are not.
 */
const formLimits = { all: 400, each: 40 }

/** The process, a person or a network has too many forms in flight. */
class TooManyForms extends Error {
  override readonly name = 'TooManyForms'
  readonly statusCode = 429
}

/** Limits the forms in flight, so that slow senders cannot use up the capacity. Files have a limit of their own. */
export function limitForms(dashboard: FastifyInstance): void {
  const shares = openShares(formLimits)
  dashboard.addHook('preParsing', async (request, reply) => {
    const { visitor, ip, routeOptions } = request
    if (isReading(request) || routeOptions.config.upload === true) return
    const release = shares.take([visitor?.email ?? clientNetwork(ip)])
    if (release === undefined) throw new TooManyForms()
    untilClosed(reply.raw)(release)
    // A form whose declared length is too large is refused without its body.
    if (!(Number(request.headers['content-length']) > routeOptions.bodyLimit)) continueBody(request.raw)
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is a file, which does not count as a form. */
    upload?: boolean
  }
}
