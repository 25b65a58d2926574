import type { ImportContext } from '../context.ts'
import { type Claim, ClaimLost, renewLease } from './claim.ts'

/** The lease of a claim, which is renewed while the worker is busy. */
export interface Lease {
  /**
   * Aborts when a renewal is refused: the import was cancelled, another worker has it, or this worker has just ended
   * it.
   */
  refused: AbortSignal
  /** Aborts when no renewal was answered for a whole lease: the import may have another worker by now. */
  expired: AbortSignal
  /** Notes that a commit has renewed the lease. */
  renewed(): void
  stop(): void
}

/** Number of renewals during one lease. The claim is lost if this many renewals in a row get no answer. */
const renewals = 3

/**
 * Renews the lease of a claim from now on (design.md §4, Exactly once). Both signals abort with a {@link ClaimLost},
 * and the worker must stop reading then. After `expired` it must not wait for anything, because the database may never
 * answer.
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
  // Counts renewals instead of time: a process that was stopped for long must ask Postgres before it drops its claim.
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
