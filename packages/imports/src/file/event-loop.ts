import { setImmediate } from 'node:timers/promises'

let last: Promise<unknown> = Promise.resolve()

/**
 * Lets everybody else have the event loop. Of all callers that wait, one goes on in each round of the loop: many files that are
 * inspected at the same moment hold up a request for no longer than one of them.
 */
export function nextTurn(): Promise<unknown> {
  last = last.then(() => setImmediate())
  return last
}
