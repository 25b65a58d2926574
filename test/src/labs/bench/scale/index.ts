import { parseArgs } from 'node:util'
import { median, printRow, printTargets } from '../measuring.ts'
import { type IdleResult, measureIdle } from './idle.ts'
import { type LimitedResult, measureLimited } from './limited.ts'
import { type DrainResult, measureDrain, measureThroughput, type ThroughputResult } from './throughput.ts'

const workerCounts = [1, 2, 4]

/** Numbers of workers, and the share of a core that each has, in the measurement of limited workers. */
const limited = { counts: [1, 2, 4, 8], share: 0.1 }

const idleCounts = [1, 10, 100]

/** Numbers of apps, each with ten imports that wait for the workers. `few` is measured before and after `many`. */
const few = 10
const many = 1_000

/**
 * Measures 1, 2 and 4 workers on Redis that import the files of 4 apps: throughput, and how long a small import takes
 * beside large ones of other apps. Then measures how 10,000 waiting imports of 1,000 apps drain, how 1 to 8 workers
 * with a tenth of a core each scale, and what 1 to 100 idle workers cost. Returns whether the targets are met.
 *
 * `[--rows N] [--only throughput,drain,limited,idle]`
 */
export async function benchScale(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rows: { type: 'string', default: '200000' },
      only: { type: 'string', default: 'throughput,drain,limited,idle' },
    },
  })
  const rows = Number(values.rows)
  const parts: Record<string, () => Promise<boolean>> = {
    throughput: async () => reportThroughput(await each(workerCounts, (workers) => measureThroughput(workers, rows))),
    drain: async () => reportDrain(await measureDrain([few, few, few, many, few, few, few])),
    limited: async () =>
      reportLimited(await each(limited.counts, (workers) => measureLimited(workers, rows, limited.share))),
    idle: async () => reportIdle(await each(idleCounts, measureIdle)),
  }
  let isMet = true
  for (const name of values.only.split(',')) isMet = ((await parts[name]?.()) ?? false) && isMet
  return isMet
}

async function each<Result>(counts: readonly number[], measure: (workers: number) => Promise<Result>) {
  const results: Result[] = []
  for (const count of counts) results.push(await measure(count))
  return results
}

function reportThroughput(results: readonly ThroughputResult[]): boolean {
  const one = results[0]?.rowsPerSecond ?? Number.NaN
  printRow('workers', ['rows/s', '÷ 1 worker', 'small import: alone', 'beside 1 large', 'beside 3 large'], widths)
  for (const { workers, rowsPerSecond: speed, ...times } of results) {
    const small = [times.alone, times.besideOne, times.besideThree].map((time) => `${time.toFixed(2)} s`)
    printRow(`${workers}`, [speed.toFixed(0), (speed / one).toFixed(2), ...small], widths)
  }
  return printTargets(
    results.flatMap(({ workers, alone, besideOne, besideThree }) => [
      target(`${workers} workers: small import beside one large of another app ÷ alone`, besideOne / alone, 3),
      target(`${workers} workers: the same beside three`, besideThree / alone, workers < 2 ? undefined : 3),
    ]),
  )
}

function reportDrain(results: readonly DrainResult[]): boolean {
  for (const { imports, apps, time, cpu } of results) {
    console.log(`${imports} imports of ${apps} apps: ${time.toFixed(2)} ms each, ${cpu.toFixed(2)} ms of CPU`)
  }
  const of = (apps: number, cost: 'time' | 'cpu') =>
    median(results.filter((result) => result.apps === apps).map((result) => result[cost]))
  return printTargets([
    target('time of an import at 10,000 waiting ÷ at 100', of(many, 'time') / of(few, 'time'), 1.5),
    target('CPU of an import at 10,000 waiting ÷ at 100', of(many, 'cpu') / of(few, 'cpu'), 1.5),
  ])
}

function reportLimited(results: readonly LimitedResult[]): boolean {
  const one = results[0]?.rowsPerSecond ?? Number.NaN
  for (const { workers, rowsPerSecond: speed } of results) {
    console.log(
      `${workers} workers of ${limited.share} cores: ${speed.toFixed(0)} rows/s (${(speed / one).toFixed(2)})`,
    )
  }
  const most = results.at(-1)?.rowsPerSecond ?? Number.NaN
  return printTargets([
    { ...target('rows/s of 8 workers ÷ of 1', most / one, 7), higherIsBetter: true },
    ...results.map(({ workers, longestWait }) =>
      target(`${workers} workers: longest wait of an app ÷ mean`, longestWait, 2),
    ),
  ])
}

function reportIdle(results: readonly IdleResult[]): boolean {
  printRow('idle workers', ['statements/s', 'commands/s', 'Postgres, % of a core', 'Redis, % of a core'], widths)
  for (const { workers, statements, commands, postgresCpu, redisCpu } of results) {
    const cores = [postgresCpu, redisCpu].map((cpu) => (cpu * 100).toFixed(2))
    printRow(`${workers}`, [statements.toFixed(1), commands.toFixed(1), ...cores], widths)
  }
  const { workers, postgresCpu, redisCpu } = results.at(-1) ?? { postgresCpu: Number.NaN, redisCpu: Number.NaN }
  return printTargets([
    target(`${workers} idle workers: Postgres, % of a core`, postgresCpu * 100, 2),
    target(`${workers} idle workers: Redis, % of a core`, redisCpu * 100, 2),
  ])
}

const widths: [number, number] = [14, 22]
const target = (name: string, measured: number, must: number | undefined) => ({ name, measured, must }) as const
