/** A call that waits for its turn. */
interface Waiting<Input, Output> {
  input: Input
  resolve(output: Output): void
  reject(error: unknown): void
}

/**
 * Joins calls that are made at the same time: while one of a key is under way, further ones of that key gather, and the
 * next one then serves them all. A call that meets no other goes at once. With many clients that is a fraction of the
 * round trips, and nothing is kept: what a call gives was always asked for after the call was made.
 *
 * Takes how to serve the inputs of several calls of one key, giving an output for each, in their order; how many it takes at
 * most; and how long those behind wait for one that is held up, by a broken connection for one, before they go beside it
 * (ms). Gives a function that makes one call. Where serving throws, so does each call that it served, and no other.
 */
export function joinCalls<Input, Output>(
  serve: (key: string, inputs: readonly Input[]) => Promise<readonly Output[]>,
  { atMost = Number.POSITIVE_INFINITY, patience = 1_000 }: { atMost?: number; patience?: number } = {},
): (key: string, input: Input) => Promise<Output> {
  /** Calls that wait, by key; a key is there while one of its calls is under way. */
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
    waiting.set(key, gathered)
    while (gathered.length > 0) {
      const { promise: turn, resolve: next } = Promise.withResolvers<void>()
      const timer = setTimeout(next, patience)
      void serveAll(key, gathered.splice(0, atMost)).then(next)
      await turn
      clearTimeout(timer)
    }
    waiting.delete(key)
  }

  return (key, input) =>
    new Promise((resolve, reject) => {
      const call = { input, resolve, reject }
      const gathered = waiting.get(key)
      if (gathered === undefined) void serveUntilNoneWaits(key, [call])
      else gathered.push(call)
    })
}
