import { setTimeout as delay } from 'node:timers/promises'
import { pick, type Random } from '../../environment/random.ts'
import type { Deployment } from './deployment.ts'
import type { Fault } from './faults.ts'

/** What {@link injectFaults} takes. */
export interface InjectionOptions {
  random: Random
  faults: Readonly<Record<string, Fault>>
  /** How long a fault lasts that lasts at all, ms: at most. */
  longestFaultMs: number
  /** Ends it, after the fault that is under way. */
  over: AbortSignal
  /** Is called after each fault. */
  afterFault?(name: string): Promise<void>
}

/** One fault after the other, each kind once before any comes again. Gives how often each counts. */
export async function injectFaults(deployment: Deployment, options: InjectionOptions): Promise<Record<string, number>> {
  const { random, over, longestFaultMs } = options
  const counts: Record<string, number> = {}
  let left: [string, Fault][] = []
  while (!over.aborted) {
    if (left.length === 0) left = Object.entries(options.faults)
    const next = pick(left, random)
    left.splice(left.indexOf(next), 1)
    const [name, strike] = next
    // What breaks may break the very connection by which it is broken.
    await strike({ deployment, random, durationMs: 300 + random(longestFaultMs) }).catch(() => {})
    counts[name] = (counts[name] ?? 0) + 1
    await options.afterFault?.(name)
    await delay(random(300))
  }
  return counts
}
