import { seeded } from '../../environment/random.ts'

/**
 * How an actor dies: before its next statement reaches Postgres, or so soon after it that Postgres executes the
 * statement and nobody receives the answer.
 */
type Crash = 'before' | 'unanswered'

/** A step of an order: an actor proceeds with its next statement, or dies. */
export interface Step {
  actor: number
  crash?: Crash | undefined
}

/** One decision of an order: which actor proceeds with its next statement, or dies. */
export interface Decision {
  /** The actors that could proceed. */
  enabled: readonly number[]
  /** Those of them whose next statement commits something. */
  committing: readonly number[]
  step: Step
  /** The beginning of the statement that was released. */
  text: string
}

export interface Exploration {
  orders: number
  /** Number of orders with a crash. */
  crashes: number
  /** Number of ways to merge the sequences of statements: the number of orders if no statement waited for a lock. */
  merges: bigint
  /** Statements of the longest order. */
  longest: number
  /** Orders whose beginning could not be repeated. */
  diverged: number
  violations: { order: string; problems: string[] }[]
}

export interface ExploreOptions {
  /**
   * Maximum number of times that an actor that could proceed is interrupted by another actor; undefined for no limit.
   */
  preemptions?: number | undefined
  /** Whether orders are tried in which one of the actors dies. */
  withCrash?: boolean | undefined
  /** Maximum number of orders; undefined for all. A sample is random, and the same in each run. */
  limit?: number | undefined
}

/** One run of an overlap: its decisions, and what it violated. */
export interface OrderRun {
  decisions: Decision[]
  hasDiverged: boolean
  problems: string[]
}

/**
 * Tries every order of the actors' statements that locks allow, up to a number of preemptions. `run` runs the order
 * that begins with the given steps, and then lets each actor proceed as far as it can.
 */
export async function explore(
  run: (prefix: readonly Step[]) => Promise<OrderRun>,
  options: ExploreOptions,
): Promise<Exploration> {
  const found: Exploration = { orders: 0, crashes: 0, merges: 0n, longest: 0, diverged: 0, violations: [] }
  const prefixes: Step[][] = [[]]
  const random = seeded(1)
  while (prefixes.length > 0 && found.orders < (options.limit ?? Number.POSITIVE_INFINITY)) {
    // The first orders alone would differ only near their ends.
    const at = options.limit === undefined ? prefixes.length - 1 : random(prefixes.length)
    const [prefix = []] = prefixes.splice(at, 1)
    const done = await run(prefix)
    count(found, done)
    prefixes.push(...variantsOf(done.decisions, prefix.length, options))
  }
  return found
}

function count(found: Exploration, { decisions, hasDiverged, problems }: OrderRun): void {
  found.orders++
  if (decisions.some(({ step }) => step.crash !== undefined)) found.crashes++
  found.longest = Math.max(found.longest, decisions.length)
  const merges = mergesOf(decisions)
  if (merges > found.merges) found.merges = merges
  if (hasDiverged) found.diverged++
  if (problems.length > 0) found.violations.push({ order: describe(decisions), problems })
}

/** Returns the beginnings of orders that first differ from an order at one of its decisions from `from` on. */
function* variantsOf(decisions: readonly Decision[], from: number, options: ExploreOptions): Generator<Step[]> {
  const { preemptions = Number.POSITIVE_INFINITY, withCrash = false } = options
  const steps = decisions.map(({ step }) => step)
  const mayCrash = withCrash && steps.every(({ crash }) => crash === undefined)
  for (const [at, { enabled, committing, step: taken }] of [...decisions.entries()].slice(from)) {
    for (const actor of enabled) {
      if (preemptionsOf(decisions, at, actor) > preemptions) continue
      if (actor !== taken.actor) yield [...steps.slice(0, at), { actor }]
      if (!mayCrash) continue
      yield [...steps.slice(0, at), { actor, crash: 'before' }]
      if (committing.includes(actor)) yield [...steps.slice(0, at), { actor, crash: 'unanswered' }]
    }
  }
}

/** Counts the preemptions of an order up to decision `at`, where `actor` proceeds. */
function preemptionsOf(decisions: readonly Decision[], at: number, actor: number): number {
  let preemptions = 0
  for (let index = 1; index <= at; index++) {
    const { enabled = [], step } = decisions[index] ?? {}
    const last = decisions[index - 1]?.step.actor ?? 0
    if (enabled.includes(last) && (index === at ? actor : step?.actor) !== last) preemptions++
  }
  return preemptions
}

function describe(decisions: readonly Decision[]): string {
  return decisions
    .map(({ step: { actor, crash }, text }) => `${actor}${crash === undefined ? '' : ` dies (${crash})`}: ${text}`)
    .join('\n')
}

/** Returns the number of ways to merge the sequences of an order's actors. */
function mergesOf(decisions: readonly Decision[]): bigint {
  const counts = new Map<number, number>()
  let [all, merges] = [0, 1n]
  for (const { step } of decisions) {
    const own = (counts.get(step.actor) ?? 0) + 1
    counts.set(step.actor, own)
    all++
    // A multinomial coefficient, factor by factor: each prefix of the decisions has an integer value.
    merges = (merges * BigInt(all)) / BigInt(own)
  }
  return merges
}
