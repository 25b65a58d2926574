import type { Settings } from '@sluice/config'
import { openShares, type Shares, untilClosed } from '@sluice/service'
import type { FastifyInstance, FastifyRequest } from 'fastify'

export const bodySettings = ['API_BODY_BUDGET'] as const

/** Maximum share of the budget for the bodies of an app. */
const largestShare = 1 / 3

/** Maximum number of places for files that a process receives at the same time: for all apps, and for each app. */
const places = { all: 40, each: 10 }

/** A file of unknown length takes two places, because it is stored in parts and one part is always in memory. */
const placesOf = (length: number | undefined) => (length === undefined ? 2 : 1)

/** The process or the app has too many bodies in flight. */
export class TooManyBodies extends Error {
  override readonly name = 'TooManyBodies'
}

/**
 * Bounds the memory of bodies. A body reserves its bytes of the budget before it is read. It releases them only after
 * the answer, because the values parsed from it take memory too.
 *
 * Counts only authenticated requests to endpoints that read a body. Other bodies are not read.
 */
export function limitBodiesInFlight(api: FastifyInstance, settings: Settings<(typeof bodySettings)[number]>): void {
  const bytes = openShares({ all: settings.API_BODY_BUDGET, each: Math.floor(settings.API_BODY_BUDGET * largestShare) })
  const uploads = openShares(places)
  api.decorateRequest('holdBytes')
  api.addHook('preParsing', async (request, reply) => {
    const { appId, routeOptions } = request
    const { file, json } = routeOptions.config.endpoint ?? {}
    if (appId === undefined || (file === undefined && json === undefined)) return
    const owner = [String(appId)]
    const holdUntilClosed = untilClosed(reply.raw)
    const hold = (from: Shares, amount: number) => {
      const release = from.take(owner, amount)
      if (release === undefined) throw new TooManyBodies()
      holdUntilClosed(release)
    }
    if (file !== undefined) {
      hold(uploads, placesOf(lengthOf(request)))
      return
    }
    request.holdBytes = (amount) => hold(bytes, amount)
    // A larger body reserves nothing, because the parser refuses it.
    const length = lengthOf(request) ?? 0
    if (length <= routeOptions.bodyLimit) request.holdBytes(length)
  })
}

/** Returns the length of a body, bytes: 0 if there is none, undefined if the body is chunked. */
export function lengthOf({ headers }: FastifyRequest): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined
  return Number(headers['content-length'] ?? 0)
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Counts bytes of the body as in flight. Throws {@link TooManyBodies} if they exceed the budget. */
    holdBytes?: (bytes: number) => void
  }
}
