import type { Place } from './joined-counts.ts'

/** Keys that are remembered; with more, the ones that were counted longest ago are forgotten. */
const mostKeys = 20_000

/** What this process knows of a key's window. */
interface Known {
  /** Requests in the window: what the store said last, and what was counted here since. */
  requests: number
  /** Of these, those that the store did not count. */
  missed: number
  /** When the window ends, ms of the process's clock. */
  end: number
}

/** Counts within one process, for when the store does not answer. */
export interface LocalCounts {
  /** Accepts what the store says of a request. Returns its place, with those that the store missed in this window. */
  counted(key: string, place: Place): Place
  /** Counts a request that the store did not, in the window that is known, or in a new one of so many ms. */
  missed(key: string, window: number): Place
  /** The store counted a missed request after all. */
  late(key: string): void
}

/**
 * Opens counts that go on from what the store said last. Whatever the store does, one process never lets more requests of a
 * key through in its window than the limit.
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
    if (counts.size > mostKeys && oldest !== undefined) counts.delete(oldest)
  }

  return {
    counted(key, { place, resetAfter }) {
      const known = current(key)
      const missed = known?.missed ?? 0
      // The store may have begun a window since: what it missed counts until the window ends in which it came.
      const end = known === undefined || missed === 0 ? now() + resetAfter : known.end
      remember(key, { requests: place + missed, missed, end })
      return { place: place + missed, resetAfter }
    },
    missed(key, window) {
      const known = current(key) ?? { requests: 0, missed: 0, end: now() + window }
      remember(key, { ...known, requests: known.requests + 1, missed: known.missed + 1 })
      return { place: known.requests + 1, resetAfter: known.end - now() }
    },
    late(key) {
      const known = current(key)
      if (known !== undefined && known.missed > 0) known.missed--
    },
  }
}
