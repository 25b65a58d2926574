import { setImmediate } from 'node:timers/promises'

let lastRound: Promise<unknown> = Promise.resolve()

/**
 * Yields to the event loop. Of all callers that wait, one continues in each round of the loop: many files that are
 * inspected at the same moment delay a request for no longer than one of them.
 */
export function yieldToEventLoop(): Promise<unknown> {
  lastRound = lastRound.then(() => setImmediate())
  return lastRound
}
