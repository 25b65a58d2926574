import { setTimeout as delay } from 'node:timers/promises'

/**
 * Returns a function that resolves when `intervalMs` have passed since the turn of the owner's preceding caller.
 * Callers of one owner get their turns one after the other; owners do not wait for each other.
 */
export function openTurns(intervalMs: number): (owner: number) => Promise<void> {
  const turns = new Map<number, number>()
  return async (owner) => {
    const now = performance.now()
    const turn = Math.max(now, (turns.get(owner) ?? Number.NEGATIVE_INFINITY) + intervalMs)
    turns.set(owner, turn)
    if (turn > now) await delay(turn - now)
  }
}
