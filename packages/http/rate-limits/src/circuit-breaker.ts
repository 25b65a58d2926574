export interface CircuitBreakerOptions {
  /** How long a call may take. */
  deadlineMs: number
  /** Failures in a row after which calls are no longer tried. */
  toleratedFailures: number
  /** How long calls are then not tried. */
  pauseMs: number
}

/**
 * Guards calls to a service that may be unreachable, so that an outage costs its callers next to nothing.
 *
 * Returns a function that runs a call. The function throws the call's error, or an error when the call passes the
 * deadline. If that call ends later, its outcome is ignored. During a pause, the function throws at once. After the
 * pause, calls are tried again: a success ends the outage, and a failure begins the next pause.
 */
export function circuitBreaker({ deadlineMs, toleratedFailures, pauseMs }: CircuitBreakerOptions) {
  let failures = 0
  let pausedUntil = 0
  return async <Result>(call: () => Promise<Result>): Promise<Result> => {
    if (performance.now() < pausedUntil) throw new Error('not tried: it failed just before')
    try {
      const result = await within(deadlineMs, call())
      failures = 0
      return result
    } catch (error) {
      failures += 1
      if (failures >= toleratedFailures) pausedUntil = performance.now() + pauseMs
      throw error
    }
  }
}

/** A timer that fires this much too late shows that this process did not run, ms. */
const stallMs = 50

/** Maximum number of times that the deadline of one call begins, however busy this process is. */
const maxDeadlines = 10

/**
 * Returns the outcome of a promise. Throws if it takes longer than `deadlineMs`. The deadline begins anew after a time
 * in which this process did not run or had other work for most of it, since such a time says nothing about the service.
 */
function within<Result>(deadlineMs: number, promise: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout
    let deadlines = 0
    const wait = () => {
      deadlines++
      const due = performance.now() + deadlineMs
      const before = performance.eventLoopUtilization()
      timer = setTimeout(() => {
        const isBusy = performance.now() > due + stallMs || performance.eventLoopUtilization(before).utilization > 0.5
        if (isBusy && deadlines < maxDeadlines) wait()
        // Timers run before sockets are read, so the answer may have arrived already: read the sockets once.
        else setImmediate(() => reject(new Error(`no answer within ${deadlineMs} ms (RATE_LIMIT_TIMEOUT)`)))
      }, deadlineMs)
    }
    wait()
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
