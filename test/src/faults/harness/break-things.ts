import { setTimeout as delay } from 'node:timers/promises'
import { pick, type Random } from '../../environment/random.ts'
import type { Deployment } from './deployment.ts'
import type { Fault } from './faults.ts'

/** What {@link breakThings} takes. */
export interface BreakingOptions {
  random: Random
  faults: Readonly<Record<string, Fault>>
  /** How long a fault lasts that lasts at all, ms: at most. */
  longestFault: number
  /** Ends it, after the fault that is under way. */
  over: AbortSignal
  /** Is called after each fault. */
  afterwards?(name: string): Promise<void>
}

/** One fault after the other, each kind once before any comes again. Gives how often each struck. */
export async function breakThings(deployment: Deployment, options: BreakingOptions): Promise<Record<string, number>> {
  const { random, over, longestFault } = options
  const struck: Record<string, number> = {}
  let left: [string, Fault][] = []
  while (!over.aborted) {
    if (left.length === 0) left = Object.entries(options.faults)
    const next = pick(left, random)
    left.splice(left.indexOf(next), 1)
    const [name, strike] = next
    // What breaks may break the very connection by which it is broken.
    await strike({ deployment, random, duration: 300 + random(longestFault) }).catch(() => {})
    struck[name] = (struck[name] ?? 0) + 1
    await options.afterwards?.(name)
    await delay(random(300))
  }
  return struck
}
