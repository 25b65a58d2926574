import type { IncomingMessage } from 'node:http'
import { measuringPeriod, Patience, type TransferLimits } from './slow-transfers.ts'

/** How slowly a client may send the body of a request. */
export interface BodyLimits extends TransferLimits {
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

/**
 * Watches how fast the body of a request arrives. Must be called when the server begins to read the body, and after it
 * has sent `100 Continue`.
 *
 * Waiting counts only while no unread bytes are buffered, because a slow reader, such as storage, is not the client's
 * fault.
 */
export function watchBody(request: IncomingMessage, limits: BodyLimits): BodyWatch {
  const { socket } = request
  const controller = new AbortController()
  const patience = new Patience(limits, socket.bytesRead)
  const stop = () => clearInterval(timer)
  const timer = setInterval(() => {
    if (request.complete || request.destroyed) return stop()
    const limit = patience.exceeded(socket.bytesRead, request.readableLength === 0)
    if (limit === undefined) return
    stop()
    controller.abort(new SlowBody(limit))
  }, measuringPeriod(limits))
  timer.unref()
  return { signal: controller.signal, stop, [Symbol.dispose]: stop }
}
