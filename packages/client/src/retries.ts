import { SluiceError } from './errors.ts'

/** The first pause is at most this long, and each following pause at most twice the preceding one, ms. */
const firstPauseMs = 400
const longestPauseMs = 10_000

/** Maximum number of failures of a call, whatever its patience. */
const mostFailures = 25

/**
 * Returns the pause before a repetition, ms: the wait that the service asks for, but at least a backoff that doubles
 * with each failure. `random`, from 0 to 1, spreads the repetitions of many clients over half of the backoff.
 *
 * @example
 * ```ts
 * pauseMs(1, undefined, 0) // → 200
 * pauseMs(3, undefined, 1) // → 1600
 * pauseMs(3, 42000, 1) // → 42000
 * ```
 */
export function pauseMs(failures: number, retryAfterMs: number | undefined, random: number): number {
  const longest = Math.min(firstPauseMs * 2 ** (failures - 1), longestPauseMs)
  return Math.max(longest * (0.5 + random / 2), retryAfterMs ?? 0)
}

/** The repetitions of one call. */
export class Retries {
  readonly #patienceMs: number
  readonly #signal: AbortSignal | undefined
  #spentMs = 0
  #failures = 0

  /** Accepts how long the call may spend on failures, ms. */
  constructor(patienceMs: number, signal?: AbortSignal | undefined) {
    this.#patienceMs = patienceMs
    this.#signal = signal
  }

  /**
   * Pauses before the next try. `triedMs` is the time for which the try that failed made no progress. It counts against
   * the patience. Throws the error if it is permanent, or if the pause would exceed the patience.
   */
  async pause(error: unknown, triedMs: number): Promise<void> {
    if (!(error instanceof SluiceError) || !error.isTransient) throw error
    this.#failures++
    const pause = pauseMs(this.#failures, error.retryAfterMs, Math.random())
    this.#spentMs += triedMs + pause
    if (this.#spentMs > this.#patienceMs || this.#failures >= mostFailures) throw error
    await delay(pause, this.#signal)
  }
}

/** Waits. Rejects with the reason of the signal if the signal is aborted. */
export async function delay(ms: number, signal?: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
