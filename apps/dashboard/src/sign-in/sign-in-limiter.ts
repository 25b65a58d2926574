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

/** How often links may be asked for. */
export interface SignInLimiter {
  /**
   * Counts a request for a link to an e-mail address in its normal form, from a network address. Gives undefined where it may pass, else after
   * how many ms the next one may. It does not matter whether the address belongs to anybody.
   */
  refuse(email: string, client: string): Promise<number | undefined>
  close(): Promise<void>
}

/** Opens the limits in the store that all processes share. While that is away, each process counts alone, and it is logged. */
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
      // What one count refuses does not reach the next: no client uses up more of an address's count than its own share.
      for (const [name, whose] of [
        ['sign_in_client', client],
        ['sign_in', `${client} ${email}`],
        ['sign_in_address', email],
      ] as const) {
        // Any length may come: its digest has always the same.
        const count = await limiter.count(createHash('sha256').update(whose).digest('base64url'), name)
        if (!count.allowed) return count.resetAfterMs
      }
      return undefined
    },
    close: () => limiter.close(),
  }
}
