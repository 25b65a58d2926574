import { setTimeout as delay } from 'node:timers/promises'

/**
 * Calls `probe` repeatedly until it returns a value other than undefined or false. Returns this value.
 *
 * Throws after `timeoutMs` with a message that contains `what`.
 */
export async function until<Found>(
  what: string,
  probe: () => Promise<Found | undefined | false> | Found | undefined | false,
  timeoutMs = 30_000,
): Promise<Found> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const found = await probe()
    if (found !== undefined && found !== false) return found
    if (performance.now() > end) throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}`)
    await delay(20)
  }
}
