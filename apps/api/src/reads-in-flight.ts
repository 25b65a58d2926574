import { turnsWithRests } from '@sluice/joined-calls'
import { openShares, untilClosed } from '@sluice/service'
import type { FastifyInstance } from 'fastify'

/**
 * Maximum number of reads of one app in flight in a process. A read that waits for its turn is in flight, and so is a
 * read whose answer the client has not taken yet.
 */
const readsPerApp = 20

/** The app has too many reads in flight. */
export class TooManyReads extends Error {
  override readonly name = 'TooManyReads'
}

/**
 * Answers the reads of one app one after the other, so that many at once do not delay other apps: a list keeps the
 * process busy for milliseconds. Bounds the reads in flight, because their answers take memory. Counts only
 * authenticated requests. A route that waits for something else than Postgres must end its turn before.
 */
export function limitReadsInFlight(api: FastifyInstance): void {
  const reads = openShares({ each: readsPerApp })
  const untilTurn = turnsWithRests()
  api.decorateRequest('endTurn')
  api.decorateRequest('endRead')
  api.addHook('preParsing', async (request, reply) => {
    const { appId, method } = request
    if (appId === undefined || (method !== 'GET' && method !== 'HEAD')) return
    const release = reads.take([String(appId)])
    if (release === undefined) throw new TooManyReads()
    untilClosed(reply.raw)(release)
    request.endTurn = await untilTurn(appId)
    const { endTurn } = request
    if (endTurn === undefined) throw new TooManyReads()
    request.endRead = () => {
      endTurn()
      release()
      // A request that waits holds no more memory than it needs: there may be thousands.
      request.endTurn = undefined
      request.endRead = undefined
    }
  })
  api.addHook('onSend', async ({ endTurn }) => endTurn?.())
}

declare module 'fastify' {
  interface FastifyRequest {
    endTurn?: (() => void) | undefined
    /** Ends the turn, and counts the request no longer as a read: it waits, and holds nothing. */
    endRead?: (() => void) | undefined
  }
}
