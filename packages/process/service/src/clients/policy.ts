import type { BodyLimits } from './slow-bodies.ts'
import type { TransferLimits } from './slow-transfers.ts'
import type { WaitingLimits } from './waiting-connections.ts'

/** The limits for every client of a server. All servers of the service have the same policy. */
export interface ClientPolicy {
  /** Largest request line and headers together, bytes. */
  headerBytes: number
  /** How long the headers of a request may take from the connection or from their first byte, ms. */
  headersMs: number
  /** How long a connection without a request stays open, ms. */
  keepAliveMs: number
  /** How slowly a body may arrive. */
  body: BodyLimits
  /** How slowly the body of a request with permission to upload a file may arrive. */
  upload: BodyLimits
  /** How slowly a client may take an answer. */
  answer: TransferLimits
  /**
   * How much a client may still send after its answer. If the connection were closed at once, the client would see a
   * reset instead of the answer.
   */
  drain: BodyLimits & { bytes: number }
  /** Connections of one address that wait for the client: for a request, its headers, or the rest of a refused body. */
  waiting: WaitingLimits
}

/** The policy of a deployment. Tests use shorter times. */
export const clientPolicy: ClientPolicy = {
  headerBytes: 16_384,
  headersMs: 10_000,
  // Longer than the idle time of common load balancers, so that the load balancer closes the connection first.
  keepAliveMs: 72_000,
  body: { minimumBytesPerSecond: 1_024, graceMs: 10_000, totalMs: 30_000 },
  upload: { minimumBytesPerSecond: 8_192, graceMs: 30_000, totalMs: 600_000 },
  // The kernel takes an answer in steps of a third of its buffer, which Linux lets grow to 4 MB: 1.6 MB were measured.
  // The grace lasts longer than such a step at the least rate.
  answer: { minimumBytesPerSecond: 32_768, graceMs: 60_000 },
  // Fast senders reach the end of their file, even on a busy server. Slow senders are cut off.
  drain: { minimumBytesPerSecond: 2 ** 20, graceMs: 10_000, totalMs: 60_000, bytes: 256 * 2 ** 20 },
  waiting: { perAddress: 500, patienceMs: 1_000 },
}
