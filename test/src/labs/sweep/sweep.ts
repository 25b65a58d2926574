import { commonPoints, type Kind, kinds, type Point } from './points.ts'
import { type Cut, type RunResult, runScenario } from './run.ts'
import type { Scenario } from './scenario.ts'
import type { SweepServers } from './servers.ts'

/** Number of undisturbed runs that decide which messages are points, unless a caller says otherwise. */
const referenceRuns = 3

/**
 * Maximum number of runs until a cut happens. A run may miss it: two concurrent jobs may send one message less than
 * usual.
 */
const triesOfCut = 3

/** Number of points that are combined into pairs: a point of the process under test and a point of its successor. */
const pairedPoints = 40

/** A point with its number, which names it on the command line. */
export interface NumberedPoint extends Point {
  number: number
}

export interface SweepOptions {
  kinds: readonly Kind[]
  /** The only point to cut at, by number or key; all points if it is left out. */
  point?: string
  /** Points whose number is not a multiple of it are left out. */
  every: number
  /** Maximum number of runs at a time. */
  lanes: number
  /** Prints the points instead of cutting at them. */
  list: boolean
}

/** A cut after which something differed from the model. */
interface Violation {
  point: NumberedPoint
  kind: Kind
  violations: string[]
  log: string
}

/** Result of a sweep over one scenario. */
export interface Figures {
  points: number
  runs: number
  /** Cuts whose message was not sent in any of {@link triesOfCut} runs, by point and kind. */
  notReached: string[]
  violations: Violation[]
}

/** Cuts a scenario at each of its points, once for each kind of cut. */
export async function sweep(servers: SweepServers, scenario: Scenario, options: SweepOptions): Promise<Figures> {
  const points = await findPoints(servers, scenario, options.lanes)
  if (options.list) for (const { number, step, key } of points) console.log(`${number}\t${step}\t${key}`)
  const jobs = points
    .filter((point) => !options.list && isChosen(point, options))
    .flatMap((point) => kindsAt(point, options.kinds).map((kind) => ({ point, kind })))
  const figures: Figures = { points: points.length, runs: 0, notReached: [], violations: [] }
  await inLanes(jobs, options.lanes, async ({ point, kind }) => {
    const result = await runUntilCut(servers, scenario, [{ key: point.key, kind }])
    note(figures, point, kind, result, result.cuts === 1)
  })
  return figures
}

/**
 * Kills the process under test at each of the first {@link pairedPoints} points, and then its successor at each of
 * these points.
 */
export async function sweepPairs(servers: SweepServers, scenario: Scenario, options: SweepOptions): Promise<Figures> {
  const points = (await findPoints(servers, scenario, options.lanes)).slice(0, pairedPoints)
  const jobs = points
    .filter((point) => isChosen(point, options))
    .flatMap((point) => points.map(({ key }) => ({ point, second: { key, kind: 'killed' as const } })))
  const figures: Figures = { points: points.length, runs: 0, notReached: [], violations: [] }
  await inLanes(jobs, options.lanes, async ({ point, second }) => {
    const result = await runUntilCut(servers, scenario, [{ key: point.key, kind: 'killed' }, second])
    // The successor sends only the messages that its predecessor left over, so the second cut may not happen.
    note(figures, point, 'killed', result, result.cuts >= 1)
  })
  return figures
}

/**
 * Returns the numbered points that a scenario's undisturbed runs have in common. Throws if such a run breaks a rule.
 */
export async function findPoints(
  servers: SweepServers,
  scenario: Scenario,
  lanes: number,
  runCount = referenceRuns,
): Promise<NumberedPoint[]> {
  const runs: (readonly Point[])[] = []
  await inLanes(Array.from({ length: runCount }), lanes, async () => {
    const { points, violations, log } = await runScenario(servers, { scenario, cuts: [] })
    if (violations.length > 0) throw new Error(`${scenario.name} fails without a cut: ${violations.join('\n')}\n${log}`)
    runs.push(points)
  })
  return commonPoints(runs).map((point, index) => ({ ...point, number: index + 1 }))
}

function isChosen({ number, key }: NumberedPoint, { point, every }: SweepOptions): boolean {
  if (number % every !== 0) return false
  return point === undefined || point === String(number) || point === key
}

/** Returns the kinds of cuts that a point allows. If the server does not answer the message, no answer can be lost. */
export function kindsAt({ answered }: Point, wanted: readonly Kind[] = kinds): readonly Kind[] {
  return wanted.filter((kind) => answered || kind === 'killed')
}

/** Runs a scenario until its first cut happens, at most {@link triesOfCut} times. Returns the last result. */
export async function runUntilCut(servers: SweepServers, scenario: Scenario, cuts: readonly Cut[]): Promise<RunResult> {
  for (let tries = 1; ; tries++) {
    const result = await runScenario(servers, { scenario, cuts })
    if (result.cuts > 0 || result.violations.length > 0 || tries === triesOfCut) return result
  }
}

function note(figures: Figures, point: NumberedPoint, kind: Kind, result: RunResult, isReached: boolean): void {
  figures.runs++
  const { violations, log } = result
  if (!isReached) figures.notReached.push(`${point.number} ${kind}: ${point.key}`)
  if (violations.length > 0) figures.violations.push({ point, kind, violations, log })
  if (process.env.SWEEP_PROGRESS) console.error(point.number, kind, result.cuts, result.ms, violations.join('; '))
}

/** Runs jobs in their order, at most `lanes` at a time. */
export async function inLanes<Job>(
  jobs: readonly Job[],
  lanes: number,
  run: (job: Job) => Promise<void>,
): Promise<void> {
  const left = [...jobs]
  const lane = async () => {
    for (let job = left.splice(0, 1); job.length > 0; job = left.splice(0, 1)) for (const each of job) await run(each)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
