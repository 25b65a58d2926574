import type { BodyLimits } from './slow-bodies.ts'
import type { WaitingLimits } from './waiting-connections.ts'

/** What a server grants its clients, whoever they are. The same policy holds on every server of the service. */
export interface ClientPolicy {
  /** Largest request line and headers together, bytes. */
  headerBytes: number
  /** How long the headers of a request may take, from the connection or from their first byte on, ms. */
  headersMs: number
  /** How long a connection without a request stays open, ms. */
  keepAliveMs: number
  /** How slowly a body may come. */
  body: BodyLimits
  /** How slowly the body of a request may come that is allowed to upload a file. */
  upload: BodyLimits
  /** What a client may still send after its request was answered, so that it reads the answer instead of a reset. */
  drain: BodyLimits & { bytes: number }
  /** Connections of one address that wait for its client: for a request, its headers, or the rest of a refused body. */
  waiting: WaitingLimits
}

/** The policy of a deployment. Tests use shorter times. */
export const clientPolicy: ClientPolicy = {
  headerBytes: 16_384,
  headersMs: 10_000,
  // Longer than the idle time of usual load balancers, so that it is they who close a connection.
  keepAliveMs: 72_000,
  body: { minimumBytesPerSecond: 1_024, graceMs: 10_000, totalMs: 30_000 },
  upload: { minimumBytesPerSecond: 8_192, graceMs: 30_000, totalMs: 600_000 },
  // Fast senders come to the end of their file, also on a busy server. Slow ones have nothing to wait for.
  drain: { minimumBytesPerSecond: 2 ** 20, graceMs: 10_000, totalMs: 60_000, bytes: 256 * 2 ** 20 },
  waiting: { perAddress: 500, patienceMs: 1_000 },
}
