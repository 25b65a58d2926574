import { setTimeout as delay } from 'node:timers/promises'
import { pick, type Random } from '../../environment/random.ts'
import type { Deployment } from './deployment.ts'
import type { Fault } from './faults.ts'

export interface InjectionOptions {
  random: Random
  faults: Readonly<Record<string, Fault>>
  /** Upper bound for the duration of a fault, ms. */
  longestFaultMs: number
  /** Stops the injection after the fault in flight. */
  over: AbortSignal
  afterFault?(name: string): Promise<void>
}

/** Injects one fault after another. Every kind occurs once before any is repeated. Returns how often each occurred. */
export async function injectFaults(deployment: Deployment, options: InjectionOptions): Promise<Record<string, number>> {
  const { random, over, longestFaultMs } = options
  const counts: Record<string, number> = {}
  let left: [string, Fault][] = []
  while (!over.aborted) {
    if (left.length === 0) left = Object.entries(options.faults)
    const next = pick(left, random)
    left.splice(left.indexOf(next), 1)
    const [name, inject] = next
    // A fault may also break the connection that injects it.
    await inject({ deployment, random, durationMs: 300 + random(longestFaultMs) }).catch(() => {})
    addCounts(counts, { [name]: 1 })
    await options.afterFault?.(name)
    await delay(random(300))
  }
  return counts
}

/** Adds counts by name to the sums so far. */
export function addCounts(sums: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count
}
