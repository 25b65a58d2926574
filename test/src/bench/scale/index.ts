import { parseArgs } from 'node:util'
import { median } from '../statistics.ts'
import { printTargets } from '../targets.ts'
import { type DrainResult, measureDrain } from './drain.ts'
import { measureThroughput, type ThroughputResult } from './throughput.ts'

const workerCounts = [1, 2, 4]

/** Numbers of apps with ten imports each that are drained. `few` is measured before and after `many`. */
const few = 10
const many = 1_000

/**
 * Measures 1, 2 and 4 workers on Redis that import the files of 4 apps: throughput, and how long a small import takes
 * beside large ones of other apps. Then measures how 10,000 waiting imports of 1,000 apps drain. `[--rows N] [--only
 * throughput,drain]`. Returns whether the targets are met.
 */
export async function benchScale(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { rows: { type: 'string', default: '200000' }, only: { type: 'string', default: 'throughput,drain' } },
  })
  const only = values.only.split(',')
  let isMet = true
  if (only.includes('throughput')) {
    const results: ThroughputResult[] = []
    for (const workers of workerCounts) results.push(await measureThroughput(workers, Number(values.rows)))
    isMet = reportThroughput(results) && isMet
  }
  if (only.includes('drain')) isMet = reportDrain(await measureDrain([few, few, few, many, few, few, few])) && isMet
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

function target(name: string, measured: number, must: number | undefined) {
  return { name, measured, must, stretch: undefined, digits: 2 } as const
}
