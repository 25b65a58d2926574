import type { Tally } from './counters.ts'
import type { Position } from './joined-counts.ts'

/**
 * Maximum number of keys that are remembered. Beyond this number, the key that was counted longest ago is forgotten.
 */
const maxKeys = 20_000

/** A key's window, as far as this process knows it. */
interface Known {
  /** Requests in the window: the store's last count, and the requests that this process has counted since. */
  requests: number
  /** Number of these requests that the store did not count. */
  missed: number
  /** The store's positions of requests among `missed` that it counted late. */
  late: readonly number[]
  /** When the window ends, ms of `performance.now()`. */
  end: number
}

/** Counts within one process, used while the store does not answer. */
export interface LocalCounts {
  /**
   * Accepts the store's answer for a request. Returns the request's position, including requests that the store missed.
   */
  counted(key: string, position: Position): Position
  /** Counts a request that the store did not count. Begins a new window if the key has no known window. */
  missed(key: string, windowMs: number): Position
  /**
   * Returns a key's count: the store's count plus the requests that the store missed. If the store's count is unknown,
   * returns the count of this process, or undefined if it has none.
   */
  known(key: string, stored: Tally | undefined): Tally | undefined
  /**
   * Records that the store counted a request at `position`, after `missed` had recorded the request as not counted.
   * The request has a position here already, so it goes before requests with lower positions that are still in flight.
   */
  late(key: string, position: number): void
}

/**
 * Opens counts that continue from the store's last answer. Whatever the store does, one process never lets more
 * requests of a key pass in its window than the limit.
 */
export function openLocalCounts(now: () => number = () => performance.now()): LocalCounts {
  const counts = new Map<string, Known>()

  const current = (key: string): Known | undefined => {
    const known = counts.get(key)
    return known !== undefined && known.end > now() ? known : undefined
  }
  const remember = (key: string, known: Known): void => {
    counts.delete(key)
    counts.set(key, known)
    const [oldest] = counts.keys()
    if (counts.size > maxKeys && oldest !== undefined) counts.delete(oldest)
  }

  return {
    counted(key, { position, resetAfterMs }) {
      const known = current(key)
      const missed = missedAt(position, known)
      const late = known?.late.filter((each) => each > position) ?? []
      // The store may have begun a new window. Requests that it did not count still count here until the end of the
      // window in which they arrived, so that end is kept.
      const end = known === undefined || missed === 0 ? now() + resetAfterMs : known.end
      remember(key, { requests: position + missed, missed, late, end })
      return { position: position + missed, resetAfterMs }
    },
    missed(key, windowMs) {
      const known = current(key) ?? { requests: 0, missed: 0, late: [], end: now() + windowMs }
      remember(key, { ...known, requests: known.requests + 1, missed: known.missed + 1 })
      return { position: known.requests + 1, resetAfterMs: known.end - now() }
    },
    known(key, stored) {
      const known = current(key)
      if (stored !== undefined) return { ...stored, requests: stored.requests + missedAt(stored.requests, known) }
      return known && { requests: known.requests, resetAfterMs: known.end - now() }
    },
    late(key, position) {
      const known = current(key)
      if (known !== undefined && known.missed > known.late.length) known.late = [...known.late, position]
    },
  }
}

/** Returns how many requests go before a position of the store that it does not count there. */
function missedAt(position: number, known: Known | undefined): number {
  if (known === undefined) return 0
  return known.missed - known.late.filter((each) => each <= position).length
}
