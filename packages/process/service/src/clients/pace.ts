import { setTimeout as delay } from 'node:timers/promises'

/** Passes the chunks of a body on, not faster than its owner's pace. */
export type Pace = (owner: number, chunks: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array>

/**
 * Opens a pace: the bodies of one owner together pass at most `bytesPerSecond` bytes a second, after a burst of
 * `burstBytes` bytes. Owners do not wait for each other.
 */
export function openPace({ bytesPerSecond, burstBytes }: { bytesPerSecond: number; burstBytes: number }): Pace {
  const msOf = (bytes: number) => (bytes / bytesPerSecond) * 1000
  /** When the bytes of each owner so far have passed, at the pace; ms. */
  const passed = new Map<number, number>()
  return async function* (owner, chunks) {
    for await (const chunk of chunks) {
      const now = performance.now()
      const then = Math.max(now, passed.get(owner) ?? 0) + msOf(chunk.length)
      passed.set(owner, then)
      const waitMs = then - msOf(burstBytes) - now
      if (waitMs > 0) await delay(waitMs)
      yield chunk
    }
  }
}
