import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { endChild, hasProgram, killAtExit, runProgram } from '../../../environment/program.ts'
import { openScratch } from '../../../environment/scratch.ts'
import { openApp } from '../../../stack/client.ts'
import { startStack } from '../../../stack/running-stack.ts'
import { type BenchPostgres, startBenchPostgres, startSettings } from '../import/postgres.ts'
import { median, printRow, printTargets } from '../measuring.ts'
import type { Load, LoadResult } from './load-process.ts'

const database = 'bench_updates'
const users = 10_000
const counts = [1, 16, 128]

/** Spans before the measurement, in which the processes warm up. */
const warmUps = 4

/**
 * Measures profile updates through the API with 1, 16 and 128 connections, in turn with a bare route that makes one
 * upsert a request, and with `pgbench` running the API's statement. `[--seconds N] [--rounds N]`. Returns whether the
 * targets are met.
 */
export async function benchUpdates(args: readonly string[]): Promise<boolean> {
  const options = { seconds: { type: 'string', default: '4' }, rounds: { type: 'string', default: '3' } } as const
  const { values } = parseArgs({ args: [...args], options })
  await using scratch = await openScratch('sluice-bench-updates-')
  await using running = new AsyncDisposableStack()
  // The API's statement is read from pg_stat_activity.
  const settings = { ...(await startSettings(scratch.path)), track_activity_query_size: '16384' }
  const postgres = await startBenchPostgres(scratch.path, settings)
  running.defer(() => postgres.stop())
  await postgres.run('postgres', `create database ${database}`)
  const databaseUrl = postgres.urlOf(database)
  const env = { RATE_LIMIT_PROFILE_UPDATE: '100000000/60s', LOG_LEVEL: 'warn', DATABASE_URL: databaseUrl }
  const stack = await startStack({ env })
  running.defer(() => stack.stop())
  const app = await openApp(
    stack,
    Array.from({ length: users }, (_, number) => `user${number}`),
  )
  // A user's first update runs alone, and would measure something else.
  const profiles = `insert into profiles (app_id, user_id, attributes) select app_id, user_id, '' from users`
  await postgres.run(database, profiles)
  const bare = fork(fileURLToPath(new URL('bare-process.ts', import.meta.url)), [databaseUrl], { execArgv: [] })
  killAtExit(bare)
  running.defer(() => endChild(bare))
  const [bareUrl] = (await once(bare, 'message', { signal: AbortSignal.timeout(30_000) })) as [string]
  const load = { token: app.token, users, seconds: Number(values.seconds) }
  const contenders: [name: string, run: (connections: number) => Promise<LoadResult>][] = [
    ['bare route', (connections) => sendUpdates({ ...load, url: bareUrl, connections })],
    ['Sluice', (connections) => sendUpdates({ ...load, url: stack.api, connections })],
  ]
  for (let span = 0; span < warmUps; span++) for (const [, run] of contenders) await run(128)
  if (await hasProgram('pgbench')) {
    await writeFile(join(scratch.path, 'script'), await pgbenchScript(postgres, app.appId))
    contenders.push(['pgbench', (connections) => runPgbench(databaseUrl, scratch.path, { ...load, connections })])
  }
  const results: Record<string, LoadResult[]> = {}
  for (let round = 0; round < Number(values.rounds); round++) {
    await postgres.settle(database)
    for (const count of counts) {
      for (const [name, run] of contenders) {
        results[`${name}, ${count}`] = [...(results[`${name}, ${count}`] ?? []), await run(count)]
      }
    }
  }
  return report(results)
}

const loadProcess = fileURLToPath(new URL('load-process.ts', import.meta.url))

async function sendUpdates(load: Load): Promise<LoadResult> {
  const { code, output } = await runProgram(process.execPath, [loadProcess, JSON.stringify(load)])
  assert.equal(code, 0, output)
  return JSON.parse(output)
}

/** Returns a script that updates a random user by the statement that the API has just run. */
async function pgbenchScript(postgres: BenchPostgres, appId: number): Promise<string> {
  const last = `select query from pg_stat_activity where application_name = 'sluice' and query ~ '^\\s*with deviating'`
  const statement: string | undefined = (await postgres.run(database, last)).rows[0]?.query
  assert(statement, "the API's statement is not in pg_stat_activity")
  const parameters = [
    `'{${appId},${appId},${appId}}'`,
    `'{plan,visits,last_seen}'`,
    `'{string,int,datetime}'`,
    `'{${appId}}'`,
    `array['user' || :user::text]`,
    `array['plan=>"plan ' || :visits::text || '",visits=>' || :visits::text || ',last_seen=>"2026-01-01 01.00"']`,
  ]
  const sql = statement.replace(/\$(\d)/g, (_, number) => parameters[number - 1] ?? '')
  return `\\set user random(0, ${users - 1})\n\\set visits random(1, 1000000000)\n${sql};\n`
}

/**
 * Runs the script in a folder. The number of updates is fixed, because opening the connections may take seconds.
 * `pgbench` reports the mean of the latencies, which stands for their median.
 */
async function runPgbench(
  url: string,
  folder: string,
  load: Pick<Load, 'connections' | 'seconds'>,
): Promise<LoadResult> {
  const each = Math.ceil((1_000 * load.seconds) / load.connections)
  const args = [
    '-n',
    '-M',
    'prepared',
    '-f',
    join(folder, 'script'),
    '-c',
    String(load.connections),
    '-t',
    String(each),
    url,
  ]
  const env = { PATH: process.env.PATH ?? '', PGOPTIONS: '-c enable_seqscan=off' }
  const { code, output } = await runProgram('pgbench', args, { env })
  assert.equal(code, 0, output)
  const perSecond = Number(/tps = ([\d.]+)/.exec(output)?.[1])
  return { perSecond, p50: Number(/latency average = ([\d.]+)/.exec(output)?.[1]), p99: Number.NaN }
}

function report(results: Readonly<Record<string, readonly LoadResult[]>>): boolean {
  printRow('connections', ['updates/s', 'p50, ms', 'p99, ms'], [28, 12])
  for (const [name, all] of Object.entries(results)) {
    const medians = (['perSecond', 'p50', 'p99'] as const).map((member) => median(all.map((each) => each[member])))
    printRow(
      name,
      medians.map((value) => (Number.isNaN(value) ? '–' : value.toFixed(1))),
      [28, 12],
    )
  }
  const targets = counts.map((count) => {
    const bare = results[`bare route, ${count}`] ?? []
    const ratios = results[`Sluice, ${count}`]?.map(({ perSecond }, round) => perSecond / (bare[round]?.perSecond ?? 0))
    return { name: `updates ÷ bare route, ${count} connections`, measured: median(ratios ?? []) }
  })
  return printTargets(
    targets.map((each, index) => ({ ...each, ...(counts[index] === 128 && { must: 0.6 }), higherIsBetter: true })),
  )
}
