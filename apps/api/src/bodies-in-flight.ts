import type { Settings } from '@sluice/config'
import { openShares, type Shares } from '@sluice/service'
import type { FastifyInstance, FastifyRequest } from 'fastify'

export const bodySettings = ['API_BODY_BUDGET'] as const

/** An app's share of the budget: one of so many. */
const shares = 3

/** Places for files that are received at the same moment, in one process and of one app. */
const places = { all: 40, each: 10 }

/** A file of unknown length takes two places: storage takes it in parts, of which one is in memory. */
const placesOf = (length: number | undefined) => (length === undefined ? 2 : 1)

/** As many bodies are in flight as the process, or the app, may have. */
export class TooManyBodies extends Error {
  override readonly name = 'TooManyBodies'
}

/**
 * Bounds the bodies that are in memory. Each holds its bytes of the budget from before it is read until its answer is sent:
 * what is made of a body takes memory too. Counts only requests that passed authentication; no other body is read.
 */
export function limitBodiesInFlight(api: FastifyInstance, settings: Settings<(typeof bodySettings)[number]>): void {
  const bytes = openShares({ all: settings.API_BODY_BUDGET, each: Math.floor(settings.API_BODY_BUDGET / shares) })
  const uploads = openShares(places)
  api.decorateRequest('holdBytes')
  api.addHook('preParsing', async (request, reply) => {
    const { appId, routeOptions } = request
    if (appId === undefined) return
    const owner = [String(appId)]
    const hold = (from: Shares, amount: number) => {
      const release = from.take(owner, amount)
      if (release === undefined) throw new TooManyBodies()
      reply.raw.once('close', release)
    }
    if (routeOptions.config.upload === true) {
      hold(uploads, placesOf(lengthOf(request)))
      return
    }
    request.holdBytes = (amount) => hold(bytes, amount)
    // A body that is too large is refused for that.
    const length = lengthOf(request) ?? 0
    if (length <= routeOptions.bodyLimit) request.holdBytes(length)
  })
}

/** The length of a body, bytes; undefined if it comes in chunks. */
export function lengthOf({ headers }: FastifyRequest): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Adds bytes of the body to those that are in flight. Throws {@link TooManyBodies}. */
    holdBytes?: (bytes: number) => void
  }
}
