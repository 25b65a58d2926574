import { parseArgs } from 'node:util'
import { median, printTargets } from '../measuring.ts'
import { type DrainResult, measureDrain } from './drain.ts'
import { type IdleResult, measureIdle } from './idle.ts'
import { type LimitedResult, measureLimited } from './limited.ts'
import { measureThroughput, type ThroughputResult } from './throughput.ts'

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
  const only = values.only.split(',')
  let isMet = true
  if (only.includes('throughput')) {
    const results: ThroughputResult[] = []
    for (const workers of workerCounts) results.push(await measureThroughput(workers, Number(values.rows)))
    isMet = reportThroughput(results) && isMet
  }
  if (only.includes('drain')) isMet = reportDrain(await measureDrain([few, few, few, many, few, few, few])) && isMet
  if (only.includes('limited')) {
    const results: LimitedResult[] = []
    for (const workers of limited.counts) {
      results.push(await measureLimited(workers, Number(values.rows), limited.share))
    }
    isMet = reportLimited(results) && isMet
  }
  if (only.includes('idle')) {
    const results: IdleResult[] = []
    for (const workers of idleCounts) results.push(await measureIdle(workers))
    isMet = reportIdle(results) && isMet
  }
  return isMet
}

function reportThroughput(results: readonly ThroughputResult[]): boolean {
  const [one] = results
  console.log('workers      rows/s  ÷ 1 worker  small import: alone  beside 1 large  beside 3 large')
  for (const { workers, rowsPerSecond, alone, besideOne, besideThree } of results) {
    const cells = [workers, rowsPerSecond.toFixed(0), (rowsPerSecond / (one?.rowsPerSecond ?? 0)).toFixed(2)]
    const times = [alone, besideOne, besideThree].map((time) => `${time.toFixed(2)} s`.padStart(16))
    console.log(`${cells.map((cell) => String(cell).padStart(10)).join('')}    ${times.join('')}`)
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
  const ratio = (cost: 'time' | 'cpu') => {
    const [atMany, atFew] = [many, few].map((apps) =>
      median(results.filter((result) => result.apps === apps).map((result) => result[cost])),
    )
    return (atMany ?? Number.NaN) / (atFew ?? Number.NaN)
  }
  return printTargets([
    target('time of an import at 10,000 waiting ÷ at 100', ratio('time'), 1.5),
    target('CPU of an import at 10,000 waiting ÷ at 100', ratio('cpu'), 1.5),
  ])
}

function reportLimited(results: readonly LimitedResult[]): boolean {
  const rowsPerSecond = (workers: number) => results.find((result) => result.workers === workers)?.rowsPerSecond
  const ratio = (workers: number) => (rowsPerSecond(workers) ?? Number.NaN) / (rowsPerSecond(1) ?? Number.NaN)
  for (const { workers, rowsPerSecond: speed } of results) {
    console.log(
      `${workers} workers of ${limited.share} cores: ${speed.toFixed(0)} rows/s (${ratio(workers).toFixed(2)})`,
    )
  }
  return printTargets([
    { ...target('rows/s of 8 workers ÷ of 1', ratio(8), 7), higherIsBetter: true },
    ...results.map(({ workers, longestWait }) =>
      target(`${workers} workers: longest wait of an app ÷ mean`, longestWait, 2),
    ),
  ])
}

function reportIdle(results: readonly IdleResult[]): boolean {
  console.log('idle workers  statements/s  commands/s  Postgres, % of a core  Redis, % of a core')
  for (const { workers, statements, commands, postgresCpu, redisCpu } of results) {
    const cells = [workers, statements.toFixed(1), commands.toFixed(1), percent(postgresCpu), percent(redisCpu)]
    console.log(cells.map((cell) => String(cell).padStart(14)).join(''))
  }
  const most = results.at(-1)
  return printTargets([
    target(`${most?.workers} idle workers: Postgres, % of a core`, (most?.postgresCpu ?? Number.NaN) * 100, 2),
    target(`${most?.workers} idle workers: Redis, % of a core`, (most?.redisCpu ?? Number.NaN) * 100, 2),
  ])
}

const percent = (cores: number) => (cores * 100).toFixed(2)

function target(name: string, measured: number, must: number | undefined) {
  return { name, measured, must }
}
