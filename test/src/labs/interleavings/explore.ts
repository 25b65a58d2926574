import type { Decision } from './scheduler.ts'

export interface Exploration {
  orders: number
  /**
   * Number of ways to merge the two sequences of statements: the number of orders if no statement waited for a lock.
   */
  merges: bigint
  /** Statements of the longest order. */
  longest: number
  /** Orders whose beginning could not be repeated. */
  diverged: number
  violations: { order: string; problems: string[] }[]
}

export interface ExploreOptions {
  /**
   * Maximum number of times that an actor that could proceed is interrupted by the other actor; undefined for no limit.
   */
  preemptions?: number | undefined
  /** Maximum number of orders; undefined for all. A sample takes them evenly from the front of the search. */
  limit?: number | undefined
}

/** One run of a pair: its decisions, and what it violated. */
export interface OrderRun {
  decisions: Decision[]
  hasDiverged: boolean
  problems: string[]
}

/**
 * Tries every order of two actors' statements that locks allow, depth first, up to a number of preemptions. `run` runs
 * the order that begins with the given actors, and then lets each actor proceed as far as it can.
 */
export async function explore(
  run: (prefix: readonly number[]) => Promise<OrderRun>,
  { preemptions = Number.POSITIVE_INFINITY, limit = Number.POSITIVE_INFINITY }: ExploreOptions,
): Promise<Exploration> {
  const found: Exploration = { orders: 0, merges: 0n, longest: 0, diverged: 0, violations: [] }
  const prefixes: number[][] = [[]]
  for (let prefix = prefixes.pop(); prefix !== undefined && found.orders < limit; prefix = prefixes.pop()) {
    const { decisions, hasDiverged, problems } = await run(prefix)
    found.orders++
    found.longest = Math.max(found.longest, decisions.length)
    const counts = [0, 1].map((actor) => decisions.filter(({ chosen }) => chosen === actor).length)
    const merges = binomial(decisions.length, counts[0] ?? 0)
    if (merges > found.merges) found.merges = merges
    if (hasDiverged) found.diverged++
    if (problems.length > 0) found.violations.push({ order: describe(decisions), problems })
    const chosen = decisions.map((decision) => decision.chosen)
    for (let at = prefix.length; at < decisions.length; at++) {
      if (decisions[at]?.enabled.length !== 2) continue
      const other = 1 - (chosen[at] ?? 0)
      if (preemptionsOf(decisions, at, other) <= preemptions) prefixes.push([...chosen.slice(0, at), other])
    }
  }
  return found
}

/** Counts the preemptions of an order up to decision `at`, where `actor` proceeds. */
function preemptionsOf(decisions: readonly Decision[], at: number, actor: number): number {
  let count = 0
  for (let index = 1; index <= at; index++) {
    const { enabled = [], chosen = 0 } = decisions[index] ?? {}
    const last = decisions[index - 1]?.chosen ?? 0
    if (enabled.includes(last) && (index === at ? actor : chosen) !== last) count++
  }
  return count
}

function describe(decisions: readonly Decision[]): string {
  return decisions.map(({ chosen, text }) => `${chosen}: ${text}`).join('\n')
}

function binomial(all: number, some: number): bigint {
  let result = 1n
  for (let index = 1; index <= some; index++) result = (result * BigInt(all - some + index)) / BigInt(index)
  return result
}
