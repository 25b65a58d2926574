/** A key's count after requests were added. */
export interface Tally {
  /** Number of requests in the window so far, including the requests just added. */
  requests: number
  /** Remaining time of the window. */
  resetAfterMs: number
}

export interface Counters {
  /**
   * Creates the counters of a function, one per key. Accepts the length of a window in ms, which must be whole seconds.
   * A window begins with the first request and is never prolonged.
   *
   * Returns a function that adds requests to a key's count. Each key may have only one such call in flight.
   */
  counter(windowMs: number): (key: string, requests: number) => Promise<Tally>
  /** Returns a key's count without adding a request; undefined if no window of the key has begun. */
  current(key: string): Promise<Tally | undefined>
  /** Resolves if the store answers. Rejects with the reason if it does not. */
  check(): Promise<unknown>
  /** Resolves when the store was reached or found to be unreachable. Until then counting fails or is slow. */
  connected: Promise<void>
  close(): Promise<void>
}
