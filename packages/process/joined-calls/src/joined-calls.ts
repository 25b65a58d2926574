/** A call that waits to be served. */
interface Waiting<Input, Output> {
  input: Input
  resolve(output: Output): void
  reject(error: unknown): void
}

/**
 * Joins calls that are made at the same time. Calls of a key in one turn of the event loop are served together. While
 * they are in flight, further calls of the key gather, and are then served together. With many clients this needs a
 * fraction of the round trips. Nothing is cached: serving always begins after the call was made.
 *
 * `serve` accepts the inputs of several calls of one key, at most `atMost`. It returns an output for each, in the same
 * order. If it takes longer than `patienceMs`, for example on a broken connection, the gathered calls no longer wait
 * for it and are served as well.
 *
 * Returns a function that makes one call. If serving throws, exactly the calls that were served together throw.
 *
 * @example
 * ```ts
 * let queries = 0
 * const lengthOf = joinCalls(async (app, words) => {
 *   queries++
 *   return words.map((word) => word.length)
 * })
 * await Promise.all([lengthOf('app 1', 'a'), lengthOf('app 1', 'bb'), lengthOf('app 1', 'ccc')]) // → [1, 2, 3]
 * queries // → 1
 * ```
 */
export function joinCalls<Input, Output>(
  serve: (key: string, inputs: readonly Input[]) => Promise<readonly Output[]>,
  { atMost = Number.POSITIVE_INFINITY, patienceMs = 1_000 }: { atMost?: number; patienceMs?: number } = {},
): (key: string, input: Input) => Promise<Output> {
  /** Waiting calls by key. A key is present until none of its calls waits or is in flight. */
  const waiting = new Map<string, Waiting<Input, Output>[]>()

  async function serveAll(key: string, calls: readonly Waiting<Input, Output>[]): Promise<void> {
    try {
      const inputs = calls.map(({ input }) => input)
      const outputs = await serve(key, inputs)
      if (outputs.length !== calls.length) throw new Error(`${outputs.length} outputs for ${calls.length} calls`)
      for (const [index, output] of outputs.entries()) calls[index]?.resolve(output)
    } catch (error) {
      for (const { reject } of calls) reject(error)
    }
  }

  async function serveUntilNoneWaits(key: string, gathered: Waiting<Input, Output>[]): Promise<void> {
    while (gathered.length > 0) {
      const { promise: servedOrLate, resolve: next } = Promise.withResolvers<void>()
      const timer = setTimeout(next, patienceMs)
      void serveAll(key, gathered.splice(0, atMost)).then(next)
      await servedOrLate
      clearTimeout(timer)
    }
    waiting.delete(key)
  }

  return (key, input) =>
    new Promise((resolve, reject) => {
      const call = { input, resolve, reject }
      const gathered = waiting.get(key)
      if (gathered !== undefined) return void gathered.push(call)
      // Requests whose query was shared make their next calls in the same turn, so the first call waits for the others.
      const calls = [call]
      waiting.set(key, calls)
      setImmediate(() => serveUntilNoneWaits(key, calls))
    })
}
