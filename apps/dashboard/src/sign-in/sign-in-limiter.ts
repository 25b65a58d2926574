import { createHash } from 'node:crypto'
import type { Settings, SharedStore } from '@sluice/config'
import { openRateLimiter } from '@sluice/rate-limits'
import { clientNetwork } from '@sluice/service'
import type { Logger } from 'pino'

export const signInLimitSettings = [
  'RATE_LIMIT_SIGN_IN',
  'RATE_LIMIT_SIGN_IN_ADDRESS',
  'RATE_LIMIT_SIGN_IN_CLIENT',
  'RATE_LIMIT_TIMEOUT',
] as const

export interface SignInLimiter {
  /**
   * Counts a request for a link, or a sign-in at a provider. `email` is the e-mail address in its normal form, and
   * undefined for sign-ins at a provider, which count by client only. `client` is the network address of the sender.
   * Returns undefined if the request is permitted, else the time (ms) until the next one is. Known and unknown
   * addresses count alike.
   */
  refuse(email: string | undefined, client: string): Promise<number | undefined>
  close(): Promise<void>
}

/**
 * Opens the limits in the store that all processes share. During an outage of the store, each process counts alone and
 * logs a warning.
 */
export async function openSignInLimiter(
  store: SharedStore,
  settings: Settings<(typeof signInLimitSettings)[number]>,
  log: Logger,
): Promise<SignInLimiter> {
  const limits = {
    sign_in: settings.RATE_LIMIT_SIGN_IN,
    sign_in_address: settings.RATE_LIMIT_SIGN_IN_ADDRESS,
    sign_in_client: settings.RATE_LIMIT_SIGN_IN_CLIENT,
  }
  const limiter = await openRateLimiter(store, limits, {
    deadlineMs: settings.RATE_LIMIT_TIMEOUT,
    onFailure: (error) => log.warn({ err: error }, 'sign-in is counted by this process alone'),
  })
  return {
    async refuse(email, clientAddress) {
      const client = clientNetwork(clientAddress)
      // A request that one limit refuses does not count for the next limit. The client's own limit for an address is
      // checked before the limit of the address, so one client cannot use up the latter.
      const counts = [
        ['sign_in_client', client],
        ...(email === undefined
          ? []
          : ([
              ['sign_in', `${client} ${email}`],
              ['sign_in_address', email],
            ] as const)),
      ] as const
      for (const [name, key] of counts) {
        // Keys may have any length, so their digest is counted.
        const count = await limiter.count(createHash('sha256').update(key).digest('base64url'), name)
        if (!count.allowed) return count.resetAfterMs
      }
      return undefined
    },
    close: () => limiter.close(),
  }
}
