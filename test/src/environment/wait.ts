import { setTimeout as delay } from 'node:timers/promises'

/**
 * Waits for a state: asks again and again until `look` gives something other than undefined or false.
 *
 * Throws, naming what was waited for, when that takes longer than `deadline` ms.
 */
export async function until<Found>(
  what: string,
  look: () => Promise<Found | undefined | false> | Found | undefined | false,
  deadline = 30_000,
): Promise<Found> {
  const end = performance.now() + deadline
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > end) throw new Error(`waited ${deadline} ms in vain for ${what}`)
    await delay(20)
  }
}
