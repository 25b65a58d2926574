import { setImmediate } from 'node:timers/promises'

let lastRound: Promise<unknown> = Promise.resolve()

/**
 * Yields to the event loop. Only one waiting caller continues in each round of the loop. So many inspections at the
 * same moment delay a request for no longer than a single inspection.
 */
export function yieldToEventLoop(): Promise<unknown> {
  lastRound = lastRound.then(() => setImmediate())
  return lastRound
}
