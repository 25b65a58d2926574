import { setTimeout as delay } from 'node:timers/promises'
import { seeded } from '../../environment/random.ts'
import type { AppProcess } from './app-process.ts'
import { largestProfile, openClientApp } from './client.ts'
import { compareWithModel } from './comparison.ts'
import { type Deployment, startDeployment } from './deployment.ts'
import { addCounts, additionalFaults, injectFaults, survivableFaults } from './faults.ts'
import { type OtherClients, openOtherClients } from './other-clients.ts'
import {
  type Growth,
  growthOf,
  growthProblems,
  measurable,
  measurableEnvironment,
  type Sample,
  type Usage,
  usageOf,
} from './process-growth.ts'
import { keepUploading, shortWaits } from './random-run.ts'

export interface LongRun {
  seed: number
  queue: 'postgres' | 'redis'
  /** How long rounds begin, ms. */
  durationMs: number
  /** How long clients upload and faults occur in a round, ms. */
  roundMs: number
  /** Upper bound for the duration of a fault, ms. */
  longestFaultMs: number
  /** Called after each round with what the processes held then. */
  onRound(round: { round: number; minutes: number; violations: number; usage: Record<string, Usage> }): void
}

interface RoundFigures {
  rounds: number
  imports: number
  rows: number
  faults: Record<string, number>
  /** How many other requests were answered as they should be, by kind. */
  answered: Record<string, number>
  violations: string[]
}

export interface LongRunFigures extends RoundFigures {
  processes: Record<string, Growth>
}

const [workers, apps] = [2, 3]

/** How long work may go on after the faults of a round, ms. Other work of the machine may slow it down. */
const timeoutMs = 10 * 60_000

/**
 * How long processes rest after a round before they are measured, ms. A connection to Postgres is kept without a query
 * for 15 s, and may take 5 s to end: how many of them a round has left open says nothing about growth.
 */
const restMs = 25_000

/**
 * Lets clients use all apps, while faults occur that every process survives. After each round, compares everything with
 * the model. At the end, compares what the processes hold with what they held near the beginning. Throws if a process
 * ends.
 */
export async function runForLong(run: LongRun): Promise<LongRunFigures> {
  const env = { ...shortWaits.env, ...measurableEnvironment, MAILS_PER_HOUR: '1000000' }
  const deployment = await startDeployment({ workers, queue: run.queue, ...shortWaits, env, nodeOptions: measurable })
  try {
    const [dashboard, gateway] = [await deployment.addServer('dashboard'), await deployment.addServer('s3-gateway')]
    const processes = {
      ...numbered('api', deployment.apis()),
      ...numbered('worker', deployment.workers()),
      ...{ dashboard, 's3-gateway': gateway },
    }
    const { port } = gateway.info.address as { port: number }
    const others = await openOtherClients(deployment, {
      dashboard: String(dashboard.info.url),
      gateway: `http://127.0.0.1:${port}`,
    })
    const figures: RoundFigures = { rounds: 0, imports: 0, rows: 0, faults: {}, answered: {}, violations: [] }
    const samples: Sample[] = []
    const began = performance.now()
    while (performance.now() - began < run.durationMs) {
      await addRound(figures, deployment, others, run)
      await delay(restMs)
      const usage = await usageOfAll(processes)
      const atMs = performance.now() - began
      samples.push({ atMs, usage })
      const { rounds: round, violations } = figures
      run.onRound({ round, minutes: Math.round(atMs / 60_000), violations: violations.length, usage })
    }
    await deployment.stopApps()
    const grown = growthOf(samples, run.durationMs)
    return { ...figures, processes: grown, violations: [...figures.violations, ...growthProblems(grown)] }
  } finally {
    await deployment.close()
  }
}

/** Runs a round with new apps, and adds its figures. */
async function addRound(
  figures: RoundFigures,
  deployment: Deployment,
  others: OtherClients,
  { seed, roundMs, longestFaultMs }: LongRun,
): Promise<void> {
  const seedOfRound = seed + 1_000 * figures.rounds
  const clients = await Promise.all(Array.from({ length: apps }, () => openClientApp(deployment, largestProfile)))
  const over = new AbortController()
  const working = Promise.all([
    others.keepAsking(over.signal),
    ...clients.map((app, index) => keepUploading(deployment, app, seeded(seedOfRound + index), over.signal)),
  ])
  working.catch(() => {}) // awaited below unless something else fails first
  const faults = await injectFaults(deployment, {
    random: seeded(seedOfRound),
    faults: { ...survivableFaults, ...additionalFaults(deployment) },
    longestFaultMs,
    over: AbortSignal.timeout(roundMs),
  }).finally(() => over.abort())
  const [answered] = await working
  const { imports, rows, violations } = await compareWithModel(deployment, clients, { timeoutMs })
  figures.rounds++
  figures.imports += imports
  figures.rows += rows
  addCounts(figures.faults, faults)
  addCounts(figures.answered, answered)
  figures.violations.push(...violations.map((violation) => `round ${figures.rounds}: ${violation}`))
}

function numbered(name: string, processes: readonly AppProcess[]): Record<string, AppProcess> {
  return Object.fromEntries(processes.map((each, index) => [`${name}-${index + 1}`, each]))
}

async function usageOfAll(processes: Readonly<Record<string, AppProcess>>): Promise<Record<string, Usage>> {
  const usages = Object.entries(processes).map(async ([name, each]) => [name, await usageOf(each)] as const)
  return Object.fromEntries(await Promise.all(usages))
}
