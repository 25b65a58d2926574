/** Where a key stands after requests were added to its count. */
export interface Tally {
  /** Requests in the window so far, those included. */
  requests: number
  /** How long the window lasts yet, ms. */
  resetAfter: number
}

/** A store of counters. */
export interface Counters {
  /**
   * Makes the counters of a function: one per app. Takes the length of a window in ms, which are whole seconds; a window
   * begins with the first request, and is never prolonged. Gives how to add requests to a key's count,
   * one call of a key at a time.
   */
  counter(window: number): (key: string, requests: number) => Promise<Tally>
  /** Ends when the store was reached or found to be away. Until then counting fails or is slow. */
  connected: Promise<void>
  close(): Promise<void>
}
