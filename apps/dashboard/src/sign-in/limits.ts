import { createHash } from 'node:crypto'
import type { Settings, SharedStore } from '@sluice/config'
import { openRateLimiter } from '@sluice/rate-limits'
import type { Logger } from 'pino'

export const signInLimitSettings = ['RATE_LIMIT_SIGN_IN', 'RATE_LIMIT_SIGN_IN_CLIENT', 'RATE_LIMIT_TIMEOUT'] as const

/** How often links may be asked for. */
export interface SignInLimiter {
  /**
   * Counts a request for a link to an e-mail address in its normal form, from a network address. Gives undefined where it may pass, else after
   * how many ms the next one may. It does not matter whether the address belongs to anybody.
   */
  refuse(email: string, client: string): Promise<number | undefined>
  close(): Promise<void>
}

/** Opens the limits in the store that all processes share. While that is away, requests pass, and it is logged. */
export async function openSignInLimiter(
  store: SharedStore,
  settings: Settings<(typeof signInLimitSettings)[number]>,
  log: Logger,
): Promise<SignInLimiter> {
  const limits = { sign_in: settings.RATE_LIMIT_SIGN_IN, sign_in_client: settings.RATE_LIMIT_SIGN_IN_CLIENT }
  const limiter = await openRateLimiter(store, limits, {
    deadline: settings.RATE_LIMIT_TIMEOUT,
    onFailure: (error) => log.warn({ err: error }, 'sign-in is not counted: requests pass'),
  })
  return {
    async refuse(email, client) {
      // Any length may come: its digest has always the same.
      const address = createHash('sha256').update(email).digest('base64url')
      const counts = await Promise.all([limiter.count(client, 'sign_in_client'), limiter.count(address, 'sign_in')])
      const waits = counts.flatMap((count) => (count === undefined || count.allowed ? [] : [count.resetAfter]))
      return waits.length === 0 ? undefined : Math.max(...waits)
    },
    close: () => limiter.close(),
  }
}
