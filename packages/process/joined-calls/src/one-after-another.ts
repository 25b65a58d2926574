import { endsInTime } from './ends-in-time.ts'

/**
 * Runs calls of one key one after another, in the order in which they were made. A call whose transaction waits for a
 * lock of its app holds a connection to Postgres meanwhile; waiting here instead leaves the connections to other apps.
 *
 * A call waits for the preceding call for at most `patienceMs`, since Postgres may have stopped answering that call;
 * `Infinity` waits for its end.
 *
 * Returns a function that makes one call.
 *
 * @example
 * ```ts
 * const run = oneAfterAnother()
 * const order = []
 * const first = run(7, async () => { await Promise.resolve(); order.push('first') })
 * const second = run(7, async () => order.push('second'))
 * await Promise.all([first, second, run(8, async () => order.push('other key'))])
 * order // → ["other key", "first", "second"]
 * ```
 */
export function oneAfterAnother<Key = number>(
  patienceMs = 5_000,
): <Result>(key: Key, call: () => Promise<Result>) => Promise<Result> {
  /** The end of the last call of each key. A key is present while one of its calls is in flight. */
  const lastEnds = new Map<Key, Promise<void>>()
  return async (key, call) => {
    const preceding = lastEnds.get(key)
    const { promise: end, resolve } = Promise.withResolvers<void>()
    lastEnds.set(key, end)
    try {
      if (patienceMs === Number.POSITIVE_INFINITY) await preceding
      else if (preceding !== undefined) await endsInTime(preceding, patienceMs)
      return await call()
    } finally {
      resolve()
      if (lastEnds.get(key) === end) lastEnds.delete(key)
    }
  }
}
