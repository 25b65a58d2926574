import { setImmediate as nextCycle } from 'node:timers/promises'

/** Waits for a state of a real socket without moving a fake clock, as `vi.waitUntil` would. */
export async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + 30_000
  while (!holds()) {
    if (Date.now() > end) throw new Error('the state was not reached within 30 s')
    await nextCycle()
  }
}
