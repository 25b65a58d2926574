import { setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { RunningStack } from '../stack/running-stack.ts'
import type { Attack, AttackContext, Figures } from './attack.ts'
import { cancelAll } from './attackers.ts'
import {
  type AppName,
  memoryLimitsOfChart,
  openTenant,
  startHostileStack,
  urlsOf,
  watchProcesses,
} from './hostile-stack.ts'
import { type Neighbour, openNeighbour, requestKinds } from './neighbour.ts'
import {
  type KindReport,
  mebibytes,
  memoryViolations,
  processViolations,
  reportKinds,
  requestViolations,
} from './violations.ts'

/** What came of an attack. */
export interface Outcome {
  finding: number
  title: string
  seconds: number
  /** Another tenant's requests meanwhile. */
  kinds: KindReport[]
  /** Peaks by app, MiB. */
  memory: Record<string, number>
  figures: Figures
  violations: string[]
}

/** How long an attack may last, ms, by whether it is the sample's. */
const longestMs = { sample: 12_000, whole: 90_000 }
/** How long normal values are measured, ms. */
const normalTimeMs = { sample: 1_500, whole: 5_000 }
/** Each kind of request is measured at least so often from the begin of an attack: fewer times have no median. */
const fewest = { sample: 3, whole: 20 }

/** Runs an attack on a stack of its own, and judges all of it. */
export async function runAlone(attack: Attack): Promise<Outcome> {
  const stack = await startHostileStack(attack.env)
  try {
    const neighbour = await openNeighbour(stack, await urlsOf(stack))
    try {
      // Processes that have just started are slow: that would hide how much slower an attack makes them.
      await delay(normalTimeMs.whole)
      await neighbour.take()
      // On one machine, the attacker's own work must not take the processors from what it attacks.
      setPriority(10)
      return await runAttack(attack, stack, neighbour, false)
    } finally {
      await neighbour.close()
    }
  } finally {
    await stack.stop().catch(() => stack.crash().catch(() => {}))
  }
}

/** Runs an attack on a stack that is running, and judges it. */
export async function runAttack(
  attack: Attack,
  stack: RunningStack,
  neighbour: Neighbour,
  isSample: boolean,
): Promise<Outcome> {
  const which = isSample ? 'sample' : 'whole'
  await neighbour.take()
  await delay(normalTimeMs[which])
  const normal = await neighbour.take()
  const watch = await watchProcesses(stack)

  const attackers: number[] = []
  const context: AttackContext = {
    stack,
    urls: await urlsOf(stack),
    isSample,
    signal: AbortSignal.timeout(isSample ? longestMs.sample : (attack.longestMs ?? longestMs.whole)),
    async openAttacker() {
      const attacker = await openTenant(stack, usersOfAttacker)
      attackers.push(attacker.appId)
      return attacker
    },
  }
  const begun = performance.now()
  const { figures, problems } = await attack.attack(context).then(
    (measured) => ({ figures: measured, problems: attack.expect?.(measured, { isSample }) ?? [] }),
    (error: unknown) => ({ figures: {}, problems: [`the attack itself failed: ${error}`] }),
  )
  const seconds = Math.round((performance.now() - begun) / 100) / 10
  const during = await takeEnough(neighbour, fewest[which])
  const kinds = reportKinds(normal, during)
  const { peaks, ended } = await watch.end()
  await cancelAll(stack, attackers)
  return {
    finding: attack.finding,
    title: attack.title,
    seconds,
    kinds,
    memory: inMebibytes(peaks),
    figures,
    violations: [
      ...processViolations(ended),
      ...memoryViolations(peaks, memoryLimitsOfChart()),
      ...requestViolations(kinds, !isSample),
      ...problems,
    ],
  }
}

const usersOfAttacker = Array.from({ length: 9 }, (_, index) => `u${index + 1}`)

/** What was measured, once every kind of request has been measured often enough. A short attack has after-effects, too. */
async function takeEnough(neighbour: Neighbour, count: number) {
  const samples = await neighbour.take()
  const isEnough = () => requestKinds.every((kind) => samples.filter((sample) => sample.kind === kind).length >= count)
  for (let tries = 0; !isEnough() && tries < 100; tries++) {
    await delay(200)
    // What had not ended at the last look is counted once more when it has: its time was longer than it seemed.
    samples.push(...(await neighbour.take()))
  }
  return samples
}

function inMebibytes(peaks: Record<AppName, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(peaks).map(([name, bytes]) => [name, mebibytes(bytes)]))
}
