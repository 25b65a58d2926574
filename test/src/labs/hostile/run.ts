import { setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { RunningStack } from '../../stack/running-stack.ts'
import { median } from '../bench/measuring.ts'
import type { Attack, AttackContext, Figures } from './attack.ts'
import { cancelAll } from './attackers.ts'
import {
  type AppName,
  appNames,
  memoryLimitsOfChart,
  openTenant,
  sliceMs,
  startHostileStack,
  urlsOf,
  watchProcesses,
} from './hostile-stack.ts'
import { type Kind, type Neighbour, openNeighbour, requestKinds, type Sample, smallImport } from './neighbour.ts'

export interface Outcome {
  title: string
  seconds: number
  /** Another tenant's requests during the attack. */
  kinds: KindReport[]
  /** Peak memory by app, MiB. */
  memory: Record<string, number>
  figures: Figures
  violations: string[]
}

/** How long an attack may last in the sample and in the full run, ms. */
const longestMs = { sample: 12_000, full: 90_000 }
/** How long normal values are measured, ms. */
const normalTimeMs = { sample: 1_500, full: 5_000 }
/**
 * Minimum number of samples per kind of request from the beginning of an attack. The median of fewer samples is
 * useless.
 */
const minSamples = { sample: 3, full: 20 }

/** Runs an attack on its own stack. Returns the result with all violations. */
export async function runAlone(attack: Attack): Promise<Outcome> {
  const stack = await startHostileStack(attack.env)
  try {
    const neighbour = await openNeighbour(stack, await urlsOf(stack))
    try {
      // Processes are slow just after their start, which would hide how much an attack slows them down.
      await delay(normalTimeMs.full)
      await neighbour.take()
      // The attacker shares the machine with the stack, so its own work must not take processor time from the stack.
      setPriority(10)
      return await runAttack(attack, stack, neighbour, false)
    } finally {
      await neighbour.close()
    }
  } finally {
    await stack.stop().catch(() => stack.crash().catch(() => {}))
  }
}

/** Runs an attack on a running stack. Returns the result with all violations. */
export async function runAttack(
  attack: Attack,
  stack: RunningStack,
  neighbour: Neighbour,
  isShort: boolean,
): Promise<Outcome> {
  const which = isShort ? 'sample' : 'full'
  await neighbour.take()
  await delay(normalTimeMs[which])
  const normal = await neighbour.take()
  const watch = await watchProcesses(stack)

  const attackers: number[] = []
  const context: AttackContext = {
    stack,
    urls: await urlsOf(stack),
    isShort,
    signal: AbortSignal.timeout(isShort ? longestMs.sample : (attack.longestMs ?? longestMs.full)),
    async openAttacker() {
      const attacker = await openTenant(stack, usersOfAttacker)
      attackers.push(attacker.appId)
      return attacker
    },
  }
  const begun = performance.now()
  const { figures, problems } = await attack.attack(context).then(
    (measured) => ({ figures: measured, problems: attack.expect?.(measured, { isShort }) ?? [] }),
    (error: unknown) => ({ figures: {}, problems: [`the attack itself failed: ${error}`] }),
  )
  const seconds = Math.round((performance.now() - begun) / 100) / 10
  const during = await takeEnough(neighbour, minSamples[which])
  const kinds = reportKinds(normal, during)
  const { peaks, ended } = await watch.end()
  await cancelAll(stack, attackers)
  return {
    title: attack.title,
    seconds,
    kinds,
    memory: inMebibytes(peaks),
    figures,
    violations: [
      ...processViolations(ended),
      ...memoryViolations(peaks, memoryLimitsOfChart()),
      ...requestViolations(kinds, !isShort),
      ...problems,
    ],
  }
}

const usersOfAttacker = Array.from({ length: 9 }, (_, index) => `u${index + 1}`)

/**
 * Collects samples until every kind of request has enough, and an import was begun. Continues after a short attack: its
 * after-effects count too.
 */
async function takeEnough(neighbour: Neighbour, count: number) {
  const samples = await neighbour.take()
  const has = (kind: Kind, least: number) => samples.filter((sample) => sample.kind === kind).length >= least
  const isEnough = () => requestKinds.every((kind) => has(kind, count)) && has(smallImport, 1)
  for (let tries = 0; !isEnough() && tries < 100; tries++) {
    await delay(200)
    // A request that was in flight in the last call is counted again when it ends, with its full duration.
    samples.push(...(await neighbour.take()))
  }
  return samples
}

function inMebibytes(peaks: Record<AppName, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(peaks).map(([name, bytes]) => [name, mebibytes(bytes)]))
}

/** Limit for the slowest request of another tenant, ms. */
const worstAllowedMs = 1_000
/** Limit for the ratio of the median time during an attack to the median time without an attack. */
const ratioAllowed = 2
/** A median time below this is always accepted, ms, because any load on the machine doubles very short times. */
const negligibleMs = 10

/** Summary of one kind of request. Times are in ms. */
interface KindReport {
  kind: string
  count: number
  failed: number
  normal_median: number
  median: number
  worst: number
}

function reportKinds(normal: readonly Sample[], during: readonly Sample[]): KindReport[] {
  return [...requestKinds, smallImport].map((kind) => {
    const times = (samples: readonly Sample[]) => samples.filter((sample) => sample.kind === kind).map(({ ms }) => ms)
    const ofAttack = during.filter((sample) => sample.kind === kind)
    return {
      kind,
      count: ofAttack.length,
      failed: ofAttack.filter(({ problem }) => problem !== undefined).length,
      normal_median: rounded(median(times(normal))),
      median: rounded(median(times(during))),
      worst: rounded(Math.max(0, ...times(during))),
    }
  })
}

/** Returns a violation for each kind of request that failed, and, if `isTimed`, for each kind that was too slow. */
function requestViolations(kinds: readonly KindReport[], isTimed: boolean): string[] {
  return kinds.flatMap((report) => {
    const { kind, count, failed, normal_median: normal, median, worst } = report
    if (count === 0) return [`${kind}: none was made`]
    const failures = failed > 0 ? [`${kind}: ${failed} of ${count} failed`] : []
    if (!isTimed) return failures
    if (kind === smallImport) {
      return worst <= 2 * sliceMs ? failures : [...failures, `${kind}: ${worst} ms, over two slices of ${sliceMs} ms`]
    }
    return [
      ...failures,
      ...(median > Math.max(negligibleMs, ratioAllowed * normal)
        ? [`${kind}: median ${median} ms, normally ${normal} ms`]
        : []),
      ...(worst >= worstAllowedMs ? [`${kind}: worst ${worst} ms, over ${worstAllowedMs} ms`] : []),
    ]
  })
}

/** Returns a violation for each app of which a process ended. */
function processViolations(ended: Record<AppName, number>): string[] {
  return appNames.flatMap((name) => (ended[name] === 0 ? [] : [`${name}: ${ended[name]} died`]))
}

/** Returns a violation for each app whose peak memory exceeded its limit. */
function memoryViolations(peaks: Record<AppName, number>, limits: Record<AppName, number>): string[] {
  return appNames.flatMap((name) =>
    peaks[name] <= limits[name] ? [] : [`${name}: ${mebibytes(peaks[name])} MiB, over ${mebibytes(limits[name])} MiB`],
  )
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20)
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10
}
