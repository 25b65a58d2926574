import { endsInTime } from './ends-in-time.ts'

/** How long a call waits for its turn, ms. */
const patienceMs = 5_000

/** The longest turn, ms. Longer than a query to a Postgres that does not answer. */
const longestTurnMs = 30_000

/** The longest rest between two turns of a key, ms. */
const longestRestMs = 500

/**
 * Returns a function that waits for the turn of a key. It returns a function that ends the turn, or undefined if the
 * turn did not come within five seconds.
 *
 * Turns of one key follow each other in the order in which they were asked for. After each turn the key rests for twice
 * as long as the turn kept the process busy, up to 500 ms. A key that wants all of a process's time gets a third of it,
 * and other keys get the rests.
 *
 * @example
 * ```ts
 * const untilTurn = turnsWithRests()
 * const order = []
 * const end = await untilTurn('app 1')
 * const second = untilTurn('app 1').then(() => order.push('second of app 1'))
 * await untilTurn('app 2').then(() => order.push('first of app 2'))
 * end()
 * await second
 * order // → ["first of app 2", "second of app 1"]
 * ```
 */
export function turnsWithRests(): (key: number | string) => Promise<(() => void) | undefined> {
  /** The end of the last turn of each key. A key is present while a call has or awaits its turn. */
  const lastEnds = new Map<number | string, Promise<void>>()
  return async (key) => {
    const preceding = lastEnds.get(key)
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    lastEnds.set(key, ended)
    const end = () => {
      resolve()
      if (lastEnds.get(key) === ended) lastEnds.delete(key)
    }
    if (preceding !== undefined && !(await endsInTime(preceding, patienceMs))) {
      void preceding.then(end)
      return undefined
    }
    const begun = performance.eventLoopUtilization()
    const longest = setTimeout(end, longestTurnMs).unref()
    return () => {
      clearTimeout(longest)
      setTimeout(end, Math.min(2 * performance.eventLoopUtilization(begun).active, longestRestMs))
    }
  }
}
