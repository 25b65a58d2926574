import assert from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { sql } from '@sluice/database'
import { removeOldImports } from '@sluice/imports'
import { removeOldMails } from '@sluice/mail'
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
const database = 'bench_history'
const retentionDays = 400

/** The environment of a round. */
interface BenchEnvironment {
  postgres: BenchPostgres
  stack: RunningStack
  file: MadeFile
}

interface Round {
  importMs: number
  updates: SpanResult
  /** Old imports and mails that were removed during the round, rows per second. */
  removedPerSecond: number
}

/**
 * Measures how much the removal of old imports and mails slows down a first import and 200 concurrent profile updates a
 * second. `[--rows N] [--history N] [--rounds N]`. Rounds with and without the removal alternate. The removal never
 * ends during a round. Returns whether the targets are met.
 */
export async function benchHistory(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rows: { type: 'string', default: '500000' },
      history: { type: 'string', default: '1000000' },
      rounds: { type: 'string', default: '3' },
    },
  })
  await using scratch = await openScratch('sluice-bench-history-')
  await using running = new AsyncDisposableStack()
  const postgres = await startBenchPostgres(scratch.path)
  running.defer(() => postgres.stop())
  await postgres.run('postgres', `create database ${database}`)
  // Maintenance keeps everything; the benchmark itself says when the removal runs.
  const settings = { RATE_LIMIT_PROFILE_UPDATE: '100000000/60s', HISTORY_RETENTION_DAYS: '0', LOG_LEVEL: 'warn' }
  const stack = await startStack({ env: { ...settings, DATABASE_URL: postgres.urlOf(database) } })
  running.defer(() => stack.stop())
  const file = await makeFile(scratch.path, shapesOf(Number(values.rows)).first)
  const environment = { postgres, stack, file }
  await fillHistory(stack, Number(values.history))
  // This round is not measured, because a new Postgres creates the files of its log (WAL) during it.
  await measureRound(environment, false)
  const [without, beside]: [Round[], Round[]] = [[], []]
  for (let round = 0; round < Number(values.rounds); round++) {
    without.push(await measureRound(environment, false))
    beside.push(await measureRound(environment, true))
  }
  return report(without, beside)
}

async function fillHistory(stack: RunningStack, count: number): Promise<void> {
  const { db } = stack
  const { appId } = await openApp(stack)
  for (let first = 1; first <= count; first += rowsAtATime) {
    const last = Math.min(count, first + rowsAtATime - 1)
    const times = sql`
      (select now() - interval '500 days' + n * interval '1 second' as at
        from generate_series(${first}::integer, ${last}::integer) as n) as times`
    await sql`
      insert into imports (app_id, source, state, object_key, content_type, file_name, rows_total, rows_applied,
        requested_at, queued_at, started_at, finished_at, files_removed_at)
      select ${appId}, 'v3', 'completed', 'none', 'text/csv', 'users.csv', 100000, 100000, at, at, at, at, at from ${times}
    `.execute(db)
    await sql`
      insert into mails (app_id, event, recipient, subject, text, html, state, created_at)
      select ${appId}, at::text, 'member@example.com', 'Profile import completed', 'text', 'html', 'sent', at from ${times}
    `.execute(db)
  }
}

/** Number of rows that one statement writes. A statement may take 30 s, so a long history needs several statements. */
const rowsAtATime = 50_000

async function measureRound({ postgres, stack, file }: BenchEnvironment, isRemoving: boolean): Promise<Round> {
  const app = await openApp(stack)
  await registerUsersOf(stack, app, file)
  await postgres.settle(database)

  const reached = { row: 0 }
  const load = steadyLoad([profileUpdates(stack, app, file, reached)], perSecond)
  const ended = new AbortController()
  try {
    const importId = await upload(stack, app, file)
    const began = performance.now()
    const removing = isRemoving ? removeHistory(stack, ended.signal) : 0
    await follow(stack, importId, file, reached)
    const end = performance.now()
    ended.abort()
    const removed = await removing
    await load.stop()
    const round = {
      importMs: end - began,
      updates: load.between(began, end),
      removedPerSecond: (removed / (end - began)) * 1000,
    }
    const { p50, p99 } = round.updates
    console.error(
      `import ${Math.round(round.importMs)} ms, updates median ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, removed ${removed} rows`,
    )
    return round
  } finally {
    ended.abort()
    await load.stop()
  }
}

/** Removes imports and mails until `shutdown`, as maintenance does. Returns the number of removed rows. */
async function removeHistory({ db }: RunningStack, shutdown: AbortSignal): Promise<number> {
  const imports = await removeOldImports({ db, shutdown }, retentionDays)
  const mails = await removeOldMails(db, retentionDays, shutdown)
  assert(shutdown.aborted, 'the history was too short: the removal ended during the import')
  return imports + mails
}

function report(without: readonly Round[], beside: readonly Round[]): boolean {
  const ratio = (of: (round: Round) => number) => median(beside.map(of)) / median(without.map(of))
  const errors = [...without, ...beside].reduce((sum, { updates }) => sum + updates.errors, 0)
  return printTargets([
    { name: 'import beside the removal ÷ alone', measured: ratio((round) => round.importMs), ...atMost(1.25) },
    { name: 'p99 of updates beside the removal ÷ alone', measured: ratio(({ updates }) => updates.p99), ...atMost(2) },
    { name: 'updates not answered with 202', measured: errors, must: 0, stretch: undefined, digits: 0 },
    {
      name: 'imports and mails removed, rows/s',
      measured: median(beside.map((round) => round.removedPerSecond)),
      must: undefined,
      stretch: undefined,
      digits: 0,
    },
  ])
}

const atMost = (must: number) => ({ must, stretch: undefined, digits: 2 }) as const
