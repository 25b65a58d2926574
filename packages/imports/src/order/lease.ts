import type { ImportContext } from '../context.ts'
import { type Claim, ClaimLost, renewLease } from './claim.ts'

/** A claim's hold on its import, which is renewed while the worker is busy. */
export interface Lease {
  /** Aborts when a renewal is refused: the import is in other hands, or was ended by this worker a moment ago. */
  refused: AbortSignal
  /** Aborts when no renewal was answered for a whole lease: nobody can tell in whose hands the import is. */
  expired: AbortSignal
  /** Says that a commit has renewed it. */
  renewed(): void
  stop(): void
}

/** Times that a lease is renewed while it lasts: as many have to go without an answer before the claim is let go. */
const renewals = 3

/**
 * Renews the lease of a claim from now on. Both signals abort with a {@link ClaimLost}: who works on the import is to stop
 * reading, and after `expired` not to wait for anything, as the database may never answer.
 */
export function keepLease(context: ImportContext, claim: Claim): Lease {
  const refusal = new AbortController()
  const expiry = new AbortController()
  let unanswered = 0
  const renew = async () => {
    try {
      await renewLease(context, claim)
      unanswered = 0
    } catch (error) {
      if (error instanceof ClaimLost) refusal.abort(error)
      else context.log.warn({ import_id: claim.importId, err: error }, 'lease not renewed')
    }
  }
  // Counts renewals and not time: a process that was stopped for long asks before it judges.
  const timer = setInterval(() => {
    if (unanswered >= renewals) expiry.abort(new ClaimLost('its lease could not be renewed'))
    unanswered++
    void renew()
  }, context.settings.IMPORT_LEASE / renewals)
  return {
    refused: refusal.signal,
    expired: expiry.signal,
    renewed: () => {
      unanswered = 0
    },
    stop: () => clearInterval(timer),
  }
}
