import { createHash } from 'node:crypto'
import type { Settings, SharedStore } from '@sluice/config'
import { turnsWithRests } from '@sluice/joined-calls'
import { type Count, openRateLimiter, retryAfter } from '@sluice/rate-limits'
import { clientNetwork, continueBody, openShares, untilClosed } from '@sluice/service'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { isReading } from './forms.ts'

/**
 * Maximum number of requests in flight in one process. `all` counts the requests of all clients together; `each` those
 * of one person who is signed in, or the forms of all visitors of one network who are not.
 */
const inFlight = { all: 600, each: 40 }

/** The seconds after which a client may try again if too many of its requests are in flight. */
const busySeconds = 1

/** A person or an app requests pages and sends forms too quickly, or too many at once. */
export class TooManyRequests extends Error {
  override readonly name = 'TooManyRequests'
  readonly statusCode = 429
  /** The seconds until the next request may pass. */
  readonly retryAfter: number

  constructor(seconds: number) {
    super(`too many requests; the next one may pass in ${seconds} s`)
    this.retryAfter = seconds
  }
}

export const requestLimitSettings = [
  'RATE_LIMIT_DASHBOARD_PERSON',
  'RATE_LIMIT_DASHBOARD_APP',
  'RATE_LIMIT_DASHBOARD_EXPORT',
  'RATE_LIMIT_TIMEOUT',
] as const

export interface RequestLimiter {
  /** Counts a request of a person, to a page of an app if it is one. Throws {@link TooManyRequests} over a limit. */
  count(email: string, appId: number | undefined): Promise<void>
  /** Counts a requested export of an app. Throws {@link TooManyRequests} over the limit. */
  countExport(appId: number): Promise<void>
  close(): Promise<void>
}

/**
 * Opens the limits in the store that all processes share. During an outage of the store, each process counts alone and
 * logs a warning.
 */
export async function openRequestLimiter(
  store: SharedStore,
  settings: Settings<(typeof requestLimitSettings)[number]>,
  log: Logger,
): Promise<RequestLimiter> {
  const limits = {
    dashboard_person: settings.RATE_LIMIT_DASHBOARD_PERSON,
    dashboard_app: settings.RATE_LIMIT_DASHBOARD_APP,
    dashboard_export: settings.RATE_LIMIT_DASHBOARD_EXPORT,
  }
  const limiter = await openRateLimiter(store, limits, {
    deadlineMs: settings.RATE_LIMIT_TIMEOUT,
    onFailure: (error) => log.warn({ err: error }, 'requests for pages are counted by this process alone'),
  })
  return {
    async count(email, appId) {
      const counts = await Promise.all([
        // The store holds no addresses.
        limiter.count(createHash('sha256').update(email).digest('base64url'), 'dashboard_person'),
        ...(appId === undefined ? [] : [limiter.count(appId, 'dashboard_app')]),
      ])
      refuseBeyond(counts)
    },
    async countExport(appId) {
      refuseBeyond([await limiter.count(appId, 'dashboard_export')])
    },
    close: () => limiter.close(),
  }
}

function refuseBeyond(counts: readonly Count[]): void {
  for (const { allowed, resetAfterMs } of counts) if (!allowed) throw new TooManyRequests(retryAfter(resetAfterMs))
}

/**
 * Limits the pages and forms of people, so that no person and no app can use up the capacity:
 *
 * - how many they request in a window, if there is a limiter;
 * - how many are in flight, also because the client sends or reads slowly;
 * - how many are worked on: those of one app, or of a person outside an app, get turns.
 *
 * Files have limits of their own. Hooks that authenticate must precede.
 */
export function limitRequests(dashboard: FastifyInstance, limiter: RequestLimiter | undefined): void {
  const shares = openShares(inFlight)
  const untilTurn = turnsWithRests()
  dashboard.decorateRequest('endTurn')
  dashboard.addHook('onRequest', async ({ visitor, visitedApp }) => {
    if (visitor !== undefined) await limiter?.count(visitor.email, visitedApp?.appId)
  })
  dashboard.addHook('preParsing', async (request, reply) => {
    const { visitor, ip, routeOptions } = request
    if (routeOptions.config.upload === true || (visitor === undefined && isReading(request))) return
    const release = shares.take([visitor?.email ?? clientNetwork(ip)])
    if (release === undefined) throw new TooManyRequests(busySeconds)
    untilClosed(reply.raw)(release)
    // A form whose declared length is too large is refused without its body.
    if (!(Number(request.headers['content-length']) > routeOptions.bodyLimit)) continueBody(request.raw)
  })
  // A client that sends a form slowly has no turn meanwhile, nor has a client that reads the answer slowly.
  dashboard.addHook('preValidation', async (request) => {
    const { visitor, visitedApp, routeOptions } = request
    if (visitor === undefined || routeOptions.config.upload === true) return
    request.endTurn = await untilTurn(visitedApp?.appId ?? visitor.email)
    if (request.endTurn === undefined) throw new TooManyRequests(busySeconds)
  })
  dashboard.addHook('onSend', async ({ endTurn }) => endTurn?.())
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is a file, which the limits of requests do not count. */
    upload?: boolean
  }
  interface FastifyRequest {
    /** Ends the turn in which the request is worked on. */
    endTurn?: (() => void) | undefined
  }
}
