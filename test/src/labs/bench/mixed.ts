import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sql } from '@sluice/database'
import { openScratch } from '../../environment/scratch.ts'
import { type App, openApp, put, requestImport } from '../../stack/client.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { type MadeFile, makeFile, registeredUserFrom, registeredUsers, shapesOf } from './import/file.ts'
import { type BenchPostgres, startBenchPostgres } from './import/postgres.ts'
import { median, printTargets } from './measuring.ts'
import { type LoadTarget, type SpanResult, steadyLoad } from './steady-load.ts'

const perSecond = 200
const idleMs = 10_000

/** Time before the measurement, in which the processes warm up and the keys are registered. */
const warmUpMs = 3_000

const database = 'bench_mixed'

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
  const load = steadyLoad(updates, perSecond)
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
  const none = { must: 0, digits: 0 } as const
  return printTargets([
    { name: 'p99 during an import ÷ alone', measured: ratio, must: 5 },
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

const pollMs = 50

/** Number of rows after the last committed row that count as being imported now. */
const rowsInFlight = 10_000

/**
 * Returns profile updates of registered users. Every second update is about a user whose row is being imported or was
 * imported recently.
 */
function profileUpdates(
  { api }: RunningStack,
  { token }: App,
  { rows }: MadeFile,
  reached: { row: number },
): LoadTarget {
  let count = 0
  const next = () => {
    count++
    const user = count % 2 === 0 ? reached.row + ((count * 7919) % rowsInFlight) : count * 7919
    const body = JSON.stringify({
      user_id: registeredUserFrom(user % rows, rows),
      user_profiles: [
        { key: 'plan', type: 'string', value: `plan ${count}` },
        { key: 'visits', type: 'int', value: count },
        { key: 'last_seen', type: 'datetime', value: '2026-01-01T10:00:00+09:00' },
      ],
    })
    return { headers: { 'X-Service-Token': token }, body }
  }
  return { url: `${api}/v2/user_profiles`, next, expected: 202 }
}

/** Registers the users of a file with an app, except the users whom an import must refuse. */
export async function registerUsersOf(stack: RunningStack, { appId }: App, { rows, users = rows }: MadeFile) {
  const lines = Readable.from(linesOf(registeredUsers(users)))
  const { code, stderr } = await stack.pipeToSluice(lines, 'users', 'register', '--app', String(appId))
  assert.equal(code, 0, stderr)
}

/** Yields IDs one per line, in pieces of some thousands. */
function* linesOf(ids: Iterable<string>): Generator<string> {
  let lines = ''
  for (const id of ids) {
    lines += `${id}\n`
    if (lines.length < 2 ** 16) continue
    yield lines
    lines = ''
  }
  yield lines
}

/** Uploads a file as an import of an app. Returns the import's ID. */
export async function upload(
  { api }: Pick<RunningStack, 'api'>,
  { token }: Pick<App, 'token'>,
  { path, bytes }: Pick<MadeFile, 'path' | 'bytes'>,
): Promise<string> {
  const md5 = createHash('md5')
  await pipeline(createReadStream(path), md5)
  const declaration = { checksum: md5.digest('base64'), byte_size: String(bytes) }
  const { importId, url, headers } = await requestImport(api, token, declaration)
  const { status } = await put(url, { ...headers, 'Content-Length': bytes }, createReadStream(path))
  assert.equal(status, 200, 'answer of storage')
  return importId
}

/** Keeps `reached` at the last committed row until the import has completed. */
async function follow({ db }: RunningStack, importId: string, file: MadeFile, reached: { row: number }): Promise<void> {
  for (;;) {
    const { state, rows_total, rows_failed } = await db
      .selectFrom('imports')
      .select(['state', 'rows_total', 'rows_failed'])
      .where('import_id', '=', importId)
      .executeTakeFirstOrThrow()
    reached.row = rows_total
    if (state === 'completed') return assert.deepEqual([rows_total, rows_failed], [file.written, file.failing])
    assert.notEqual(state, 'failed')
    await delay(pollMs)
  }
}
