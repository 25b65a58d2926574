import type { IncomingMessage } from 'node:http'

/** How slowly a client may send the body of a request. */
export interface BodyLimits {
  minimumBytesPerSecond: number
  /** How long a client may send nothing, or less than `minimumBytesPerSecond`, ms. */
  graceMs: number
  /** How long the whole body may take, ms. */
  totalMs: number
}

/** The client sends its body too slowly. */
export class SlowBody extends Error {
  override readonly name = 'SlowBody'
  /** The limit that the client exceeded. */
  readonly limit: 'throughput' | 'total'

  constructor(limit: 'throughput' | 'total') {
    super(limit === 'total' ? 'the body took too long' : 'the body came too slowly')
    this.limit = limit
  }
}

/** The watch over the body of a request. */
export interface BodyWatch extends Disposable {
  /**
   * Aborts with a {@link SlowBody} when the client exceeds a limit. The caller then answers and closes the connection.
   */
  readonly signal: AbortSignal
  /** Ends the watch. Must be called when nobody reads the body any more. */
  stop(): void
}

/** The longest time between two measurements, ms. */
const longestPeriodMs = 1_000

/**
 * Watches how fast the body of a request arrives. Must be called when the server begins to read the body, and after it
 * has sent `100 Continue`.
 *
 * The client has `graceMs` of credit. Waiting for the client uses credit, and each byte that arrives restores some, up
 * to `graceMs`. A client that sends at the minimum rate therefore never runs out of credit. A client that stalls runs
 * out after `graceMs`.
 *
 * Waiting counts only while no unread bytes are buffered, because a slow reader, such as storage, is not the client's
 * fault. Time during which this process was stopped or busy does not count either.
 */
export function watchBody(request: IncomingMessage, limits: BodyLimits): BodyWatch {
  const { minimumBytesPerSecond, graceMs, totalMs } = limits
  const { socket } = request
  const controller = new AbortController()
  const period = Math.max(1, Math.min(longestPeriodMs, graceMs / 10, totalMs / 10))
  let credit = graceMs
  let age = 0
  let measuredAt = performance.now()
  let bytesBefore = socket.bytesRead

  const timer = setInterval(() => {
    if (request.complete || request.destroyed) return stop()
    const now = performance.now()
    const passed = Math.min(now - measuredAt, 2 * period)
    const bytes = socket.bytesRead
    const earned = ((bytes - bytesBefore) / minimumBytesPerSecond) * 1000
    measuredAt = now
    bytesBefore = bytes
    age += passed
    const waited = request.readableLength === 0 ? passed : 0
    credit = Math.min(graceMs, credit + earned - waited)
    if (credit <= 0) fail('throughput')
    else if (age >= totalMs) fail('total')
  }, period)
  timer.unref()

  function stop(): void {
    clearInterval(timer)
  }
  function fail(limit: SlowBody['limit']): void {
    stop()
    controller.abort(new SlowBody(limit))
  }
  return { signal: controller.signal, stop, [Symbol.dispose]: stop }
}
