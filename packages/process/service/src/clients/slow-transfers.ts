/** How slowly a client may send or take bytes. */
export interface TransferLimits {
  minimumBytesPerSecond: number
  /** How long the server waits for a client that transfers nothing, or less than `minimumBytesPerSecond`, ms. */
  graceMs: number
  /** How long the whole transfer may take, ms. By default, as long as the least rate allows. */
  totalMs?: number
}

/** The longest time between two measurements, ms. */
const longestPeriodMs = 1_000

/** Returns the time between two measurements of a transfer, ms. */
export function measuringPeriod({ graceMs, totalMs = Number.POSITIVE_INFINITY }: TransferLimits): number {
  return Math.max(1, Math.min(longestPeriodMs, graceMs / 10, totalMs / 10))
}

/**
 * The server's patience with a client that sends or takes bytes.
 *
 * The client has `graceMs` of credit. Waiting for the client uses credit, and each byte restores some, up to `graceMs`.
 * A client at the minimum rate therefore never runs out of credit. A client that stalls runs out after `graceMs`.
 * Time during which this process was stopped or busy does not count.
 */
export class Patience {
  readonly #limits: TransferLimits
  #credit: number
  #age = 0
  #measuredAt = performance.now()
  #bytesBefore: number

  /** `bytes` is the number of bytes so far. */
  constructor(limits: TransferLimits, bytes: number) {
    this.#limits = limits
    this.#credit = limits.graceMs
    this.#bytesBefore = bytes
  }

  /**
   * Measures again: the number of bytes so far, and whether the server waits for the client now. Returns the limit
   * that the client has exceeded.
   */
  exceeded(bytes: number, waitsForClient: boolean): 'throughput' | 'total' | undefined {
    const { minimumBytesPerSecond, graceMs, totalMs = Number.POSITIVE_INFINITY } = this.#limits
    const now = performance.now()
    const passed = Math.min(now - this.#measuredAt, 2 * measuringPeriod(this.#limits))
    const earned = ((bytes - this.#bytesBefore) / minimumBytesPerSecond) * 1000
    this.#measuredAt = now
    this.#bytesBefore = bytes
    this.#age += passed
    this.#credit = Math.min(graceMs, this.#credit + earned - (waitsForClient ? passed : 0))
    if (this.#credit <= 0) return 'throughput'
    return this.#age >= totalMs ? 'total' : undefined
  }
}
