// The long form of the fault suite:
//   npm run test:soak [-- --times 20] [--seed 1] [--minutes 2] [--fault 30]
//     [--only random-postgres,random-redis,order,hostile]
//   npm run test:soak -- --hours 2 [--seed 1] [--minutes 2] [--fault 30]
//
// A round runs a random schedule of faults on each queue backend, then 8 apps × 20 imports in random order under
// faults. Each schedule takes `--minutes`, and no fault is longer than `--fault` seconds. The first round also imports
// the hostile files, with lines and bombs of 1 GB.
//
// With `--hours`, one deployment for each queue backend runs that long instead, and none of its processes may end or
// grow. Its clients use all apps, in rounds of `--minutes`.
//
// Prints one line of JSON for each part, and the sum at the end. Exits with code 1 on any violation.
import { parseArgs } from 'node:util'
import { startDeployment } from '../../faults/harness/deployment.ts'
import { addCounts } from '../../faults/harness/faults.ts'
import { hostileFiles, runHostileFile } from '../../faults/harness/hostile-files.ts'
import { runForLong } from '../../faults/harness/long-run.ts'
import { runInOrder } from '../../faults/harness/order-run.ts'
import { runAtRandom } from '../../faults/harness/random-run.ts'

/** Size of the largest file, bytes. Leaves room for a header within the limit for uploads. */
const largestFileBytes = 2 ** 30 - 2 ** 10

const { values } = parseArgs({
  options: {
    times: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '2' },
    fault: { type: 'string', default: '30' },
    hours: { type: 'string' },
    only: { type: 'string', default: 'random-postgres,random-redis,order,hostile' },
  },
})
const times = positive(values.times)
const firstSeed = positive(values.seed)
const durationMs = positive(values.minutes) * 60_000
const longestFaultMs = positive(values.fault) * 1000
const only = values.only.split(',')

const sum = { rounds: 0, imports: 0, rows: 0, faults: {} as Record<string, number>, violations: 0 }
if (values.hours === undefined) await runRounds(times)
else {
  const hours = positive(values.hours)
  await Promise.all([runLong('postgres', hours), runLong('redis', hours)])
}
console.log(JSON.stringify({ part: 'sum', ...sum }))
process.exit(sum.violations > 0 ? 1 : 0)

async function runRounds(count: number): Promise<void> {
  for (let round = 0; round < count; round++) {
    const seed = firstSeed + round
    const at = {
      seed,
      durationMs,
      longestFaultMs,
      workers: 3,
      apps: 4,
      awaitRecovery: true,
    }
    if (only.includes('random-postgres'))
      await part('random-postgres', seed, () => runAtRandom({ ...at, queue: 'postgres' }))
    if (only.includes('random-redis')) await part('random-redis', seed, () => runAtRandom({ ...at, queue: 'redis' }))
    // The timeout is generous because this part is about order. The time for 160 imports depends on the machine's load.
    const inOrder = {
      seed,
      apps: 8,
      imports: 20,
      rows: 2_000,
      workers: 4,
      faultsMs: 10 * 60_000,
      timeoutMs: 15 * 60_000,
    }
    if (only.includes('order')) await part('order', seed, () => runInOrder(inOrder))
    if (round === 0 && only.includes('hostile')) await part('hostile', seed, runHostileFiles)
    sum.rounds++
  }
}

/** Runs a deployment for hours. Prints what its processes hold after each round. */
async function runLong(queue: 'postgres' | 'redis', hours: number): Promise<void> {
  await part(`long-${queue}`, firstSeed, () =>
    runForLong({
      queue,
      seed: firstSeed,
      durationMs: hours * 3_600_000,
      roundMs: durationMs,
      longestFaultMs,
      onRound: (round) => console.error(JSON.stringify({ queue, ...round })),
    }),
  )
}

interface Figures {
  imports: number
  rows: number
  violations: string[]
  rounds?: number
  faults?: Record<string, number>
}

/** Runs a part and prints its figures. Counts an exception as a violation, and does not rethrow it. */
async function part(name: string, seed: number, run: () => Promise<Figures>): Promise<void> {
  const started = performance.now()
  const figures: Figures = await run().catch((error: unknown) => {
    console.error(error)
    return { imports: 0, rows: 0, violations: [`failed: ${error instanceof Error ? error.message : error}`] }
  })
  const seconds = Math.round((performance.now() - started) / 1000)
  console.log(JSON.stringify({ part: name, seed, seconds, ...figures }))
  sum.rounds += figures.rounds ?? 0
  sum.imports += figures.imports
  sum.rows += figures.rows
  sum.violations += figures.violations.length
  addCounts(sum.faults, figures.faults ?? {})
}

async function runHostileFiles(): Promise<Figures> {
  const deployment = await startDeployment({ workers: 1, env: { BATCH_ROWS: '5000' } })
  const figures: Figures = { imports: 0, rows: 0, violations: [] }
  try {
    for (const file of hostileFiles(largestFileBytes)) {
      const end = await runHostileFile(deployment, file)
      console.error(`${file.name}: ${Math.round(end.peakMemory / 1e6)} MB, ${end.tookMs} ms`)
      figures.imports++
      figures.rows += end.rows_total
      const isRight =
        end.state === file.expected.state &&
        end.rows_total === file.expected.rows_total &&
        end.rows_failed === file.expected.rows_failed &&
        (end.error ?? '').includes(file.expected.error ?? '')
      if (!isRight) figures.violations.push(`${file.name}: ${JSON.stringify({ ...end, messages: [] })}`)
    }
    return figures
  } finally {
    await deployment.close()
  }
}

function positive(text: string): number {
  const value = Number(text)
  if (value > 0) return value
  throw new Error(`${JSON.stringify(text)} is not a positive number`)
}
