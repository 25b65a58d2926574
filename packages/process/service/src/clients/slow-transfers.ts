/** How slowly a client may send or take bytes. */
export interface TransferLimits {
  minimumBytesPerSecond: number
  /** How long the server waits for a client that transfers nothing, or less than `minimumBytesPerSecond`, ms. */
  graceMs: number
  /** How long the whole transfer may take, ms. By default, as long as the least rate allows. */
  totalMs?: number
}

/** What a watch measures. */
export interface Transfer {
  /** Number of bytes so far. */
  bytes(): number
  /** Whether the server waits for the client now. */
  waitsForClient(): boolean
  isOver(): boolean
}

/** The longest time between two measurements, ms. */
const longestPeriodMs = 1_000

/**
 * Watches how fast a client sends or takes bytes. Calls `onSlow` once, with the limit that the client exceeded. Returns
 * a function that ends the watch.
 *
 * The client has `graceMs` of credit. Waiting for the client uses credit, and each byte restores some, up to `graceMs`.
 * A client at the minimum rate therefore never runs out of credit. A client that stalls runs out after `graceMs`.
 * Time during which this process was stopped or busy does not count.
 */
export function watchTransfer(
  { bytes, waitsForClient, isOver }: Transfer,
  { minimumBytesPerSecond, graceMs, totalMs = Number.POSITIVE_INFINITY }: TransferLimits,
  onSlow: (limit: 'throughput' | 'total') => void,
): () => void {
  const period = Math.max(1, Math.min(longestPeriodMs, graceMs / 10, totalMs / 10))
  let credit = graceMs
  let age = 0
  let measuredAt = performance.now()
  let bytesBefore = bytes()

  const stop = () => clearInterval(timer)
  const fail = (limit: 'throughput' | 'total') => {
    stop()
    onSlow(limit)
  }
  const timer = setInterval(() => {
    if (isOver()) return stop()
    const now = performance.now()
    const passed = Math.min(now - measuredAt, 2 * period)
    const bytesNow = bytes()
    const earned = ((bytesNow - bytesBefore) / minimumBytesPerSecond) * 1000
    measuredAt = now
    bytesBefore = bytesNow
    age += passed
    credit = Math.min(graceMs, credit + earned - (waitsForClient() ? passed : 0))
    if (credit <= 0) fail('throughput')
    else if (age >= totalMs) fail('total')
  }, period)
  timer.unref()
  return stop
}
