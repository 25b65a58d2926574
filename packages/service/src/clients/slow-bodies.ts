import type { IncomingMessage } from 'node:http'

/** How slowly a client may send the body of a request. */
export interface BodyLimits {
  minimumBytesPerSecond: number
  /** How long a client may be behind this rate, ms: also how long it may send nothing. */
  graceMs: number
  /** How long the whole body may take, ms. */
  totalMs: number
}

/** The client sends its body too slowly. */
export class SlowBody extends Error {
  override readonly name = 'SlowBody'
  /** Which limit the client broke. */
  readonly limit: 'throughput' | 'total'

  constructor(limit: 'throughput' | 'total') {
    super(limit === 'total' ? 'the body took too long' : 'the body came too slowly')
    this.limit = limit
  }
}

/** A request whose body is being watched. */
export interface BodyWatch extends Disposable {
  /** Aborts with a {@link SlowBody} when the client has broken a limit. The caller answers and closes the connection. */
  readonly signal: AbortSignal
  /** Ends the watch. Call it when nobody reads the body any more. */
  stop(): void
}

/** The longest time between two measurements, ms. */
const longestPeriod = 1_000

/**
 * Watches how fast the body of a request arrives. Call it when the server begins to read the body, and after it has sent
 * `100 Continue`.
 *
 * The client has `graceMs` of credit. Waiting for it uses credit up; each byte that arrives returns some, up to `graceMs`.
 * A client that sends at the minimum rate therefore never runs out, and one that stalls does after `graceMs`.
 *
 * Waiting counts only while no unread bytes are buffered: a slow reader, such as storage, is no fault of the client. Neither
 * is time in which this process was stopped or busy.
 */
export function watchBody(request: IncomingMessage, limits: BodyLimits): BodyWatch {
  const { minimumBytesPerSecond, graceMs, totalMs } = limits
  const { socket } = request
  const controller = new AbortController()
  const period = Math.max(1, Math.min(longestPeriod, graceMs / 10, totalMs / 10))
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
