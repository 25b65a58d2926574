import { setTimeout as delay } from 'node:timers/promises'

/**
 * Returns a function that resolves when `intervalMs` have passed since the turn of the owner's preceding caller.
 * Callers of one owner get their turns one after the other; owners do not wait for each other. After a pause, as many
 * callers as `burst` do not wait either.
 */
export function openTurns(intervalMs: number, burst = 1): (owner: number | string) => Promise<void> {
  const turns = new Map<number | string, number>()
  return async (owner) => {
    const now = performance.now()
    const turn = Math.max(now - (burst - 1) * intervalMs, (turns.get(owner) ?? Number.NEGATIVE_INFINITY) + intervalMs)
    turns.set(owner, turn)
    if (turn > now) await delay(turn - now)
  }
}
