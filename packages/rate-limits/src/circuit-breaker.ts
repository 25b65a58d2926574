/** What a {@link circuitBreaker} takes. */
export interface CircuitBreakerOptions {
  /** How long a call may take, ms. */
  deadline: number
  /** Failures in a row after which calls are no longer tried. */
  tolerated: number
  /** For how long they are not tried then, ms. */
  pause: number
}

/**
 * Guards calls to something that may be away, so that its absence costs its callers next to nothing.
 *
 * Gives a function that runs a call. It throws what the call threw, an error when the call passed the deadline (its late
 * end changes nothing), and an error at once during a pause. After the pause calls are tried again; one that succeeds
 * ends the trouble, one that fails begins the next pause.
 */
export function circuitBreaker({ deadline, tolerated, pause }: CircuitBreakerOptions) {
  let failures = 0
  let pausedUntil = 0
  return async <Result>(call: () => Promise<Result>): Promise<Result> => {
    if (performance.now() < pausedUntil) throw new Error('not tried: it failed just before')
    try {
      const result = await within(deadline, call())
      failures = 0
      return result
    } catch (error) {
      failures += 1
      if (failures >= tolerated) pausedUntil = performance.now() + pause
      throw error
    }
  }
}

/** A timer that fires so much later than it should says that this process was busy, ms. */
const stall = 50

/** Deadlines that a call gets at most, however busy this process is. */
const mostDeadlines = 10

/**
 * The outcome of a promise, or an error when it takes longer than `deadline` ms. Time in which this process did not run is no
 * fault of whoever answers: after it the deadline begins anew.
 */
function within<Result>(deadline: number, promise: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout
    let deadlines = 0
    const wait = () => {
      deadlines++
      const due = performance.now() + deadline
      timer = setTimeout(() => {
        if (performance.now() > due + stall && deadlines < mostDeadlines) wait()
        // Timers run before sockets are read: the answer may be there already, so look once.
        else setImmediate(() => reject(new Error(`no answer within ${deadline} ms`)))
      }, deadline)
    }
    wait()
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
