import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sql } from '@sluice/database'
import { openApp } from '../../stack/client.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { type MadeFile, makeFile, shapesOf } from './import/file.ts'
import { type BenchPostgres, startBenchPostgres } from './import/postgres.ts'
import { follow, profileUpdates, registerUsersOf, upload } from './mixed-load.ts'
import { openScratch } from './scratch.ts'
import { median } from './statistics.ts'
import { type SpanResult, steadyLoad } from './steady-load.ts'
import { printTargets } from './targets.ts'

const perSecond = 200
const idleMs = 10_000

/** Time before the measurement, in which the processes warm up and the keys are registered. */
const warmUpMs = 3_000

const database = 'bench_mixed'

/** The environment of a round. */
interface BenchEnvironment {
  postgres: BenchPostgres
  stack: RunningStack
  file: MadeFile
}

interface Round {
  idle: SpanResult
  during: SpanResult
}

/**
 * Measures profile updates at 200 requests a second through the API, alone and during a first import of the same users.
 * During the import, half of the updates are about users whose rows are being imported. `[--rows N] [--rounds N]`.
 * Returns whether the targets are met.
 *
 * A first round is not measured: a new Postgres creates the files of its log (WAL) one by one, and every commit waits
 * meanwhile.
 */
export async function benchMixed(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { rows: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '3' } },
  })
  await using scratch = await openScratch('sluice-bench-mixed-')
  await using running = new AsyncDisposableStack()
  const postgres = await startBenchPostgres(scratch.path)
  running.defer(() => postgres.stop())
  await postgres.run('postgres', `create database ${database}`)
  const settings = { RATE_LIMIT_PROFILE_UPDATE: '100000000/60s', LOG_LEVEL: 'warn' }
  const stack = await startStack({ env: { ...settings, DATABASE_URL: postgres.urlOf(database) } })
  running.defer(() => stack.stop())
  const environment = { postgres, stack, file: await makeFile(scratch.path, shapesOf(Number(values.rows)).first) }
  await measureRound(environment)
  const rounds: Round[] = []
  for (let round = 0; round < Number(values.rounds); round++) rounds.push(await measureRound(environment))
  return report(rounds, await countConflicts(stack, postgres))
}

async function measureRound({ postgres, stack, file }: BenchEnvironment): Promise<Round> {
  const app = await openApp(stack)
  await registerUsersOf(stack, app, file)
  await postgres.settle(database)

  const reached = { row: 0 }
  const updates = profileUpdates(stack, app, file, reached)
  const load = steadyLoad([updates], perSecond)
  try {
    await delay(warmUpMs)
    const from = performance.now()
    await delay(idleMs)
    const idleEnd = performance.now()
    const importId = await upload(stack, app, file)
    const begin = performance.now()
    await follow(stack, importId, file, reached)
    const end = performance.now()
    await load.stop()
    const round = { idle: load.between(from, idleEnd), during: load.between(begin, end) }
    const { idle, during } = round
    console.error(`${inWords(idle)} alone; ${inWords(during)} during an import of ${Math.round(end - begin)} ms`)
    return round
  } finally {
    await load.stop()
  }
}

function inWords({ requests, p50, p99 }: SpanResult): string {
  return `${requests} updates, median ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`
}

function report(rounds: readonly Round[], conflicts: number): boolean {
  const idle = median(rounds.map((round) => round.idle.p99))
  const during = median(rounds.map((round) => round.during.p99))
  const ratio = median(rounds.map((round) => round.during.p99 / round.idle.p99))
  const errors = rounds.reduce((sum, round) => sum + round.idle.errors + round.during.errors, 0)
  console.log(`${perSecond} profile updates a second, median of ${rounds.length} rounds`)
  console.log(`p99 ${idle.toFixed(1)} ms alone, ${during.toFixed(1)} ms during an import`)
  const none = { must: 0, stretch: undefined, digits: 0 } as const
  return printTargets([
    { name: 'p99 during an import ÷ alone', measured: ratio, must: 5, stretch: undefined, digits: 2 },
    { name: 'updates not answered with 202', measured: errors, ...none },
    { name: 'deadlocks and serialization failures', measured: conflicts, ...none },
  ])
}

/**
 * Counts the transactions that Postgres rolled back because of conflicts, including transactions that were repeated
 * unnoticed.
 */
async function countConflicts({ db }: RunningStack, { log }: BenchPostgres): Promise<number> {
  const { rows } = await sql<{ deadlocks: number }>`
    select deadlocks from pg_stat_database where datname = current_database()`.execute(db)
  const words = await readFile(log, 'utf8')
  return (rows[0]?.deadlocks ?? Number.NaN) + (words.match(/could not serialize access/g)?.length ?? 0)
}
